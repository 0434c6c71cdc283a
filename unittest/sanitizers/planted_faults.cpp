// SPDX-License-Identifier: GPL-2.0-only
// Faults that a build with sanitizers must stop at: a read behind the end of an array, an overflow
// of a signed number, and two threads that write to one number.
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

namespace {

volatile int sink = 0;

void read_behind_the_end(int count) {
    const std::vector<int> values(count, 1);
    sink = values.data()[count];
}

void overflow(int count) { sink = 2147483647 - 3 + count; }

void race(int count) {
    int shared = 0;
    const auto add = [&] {
        for (int k = 0; k < 1000 * count; ++k) ++shared;
    };
    std::thread other(add);
    add();
    other.join();
    sink = shared;
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return 0;
    if (std::strcmp(words[1], "address") == 0) read_behind_the_end(count);
    if (std::strcmp(words[1], "undefined") == 0) overflow(count * 2);
    if (std::strcmp(words[1], "thread") == 0) race(count);
    std::cout << "nothing stopped this program\n";
    return 0;
}
