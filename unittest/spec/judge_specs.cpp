// SPDX-License-Identifier: GPL-2.0-only
// Says what a strict reading makes of texts. Standard input holds the texts, a NUL byte after each;
// a line of output is "accepted", or "refused" and the message.
#include <iostream>

#include "spec/parse_mlip_spec.hpp"
#include "spec/spec_error.hpp"

int main() {
    for (std::string text; std::getline(std::cin, text, '\0');) {
        try {
            nvalchemi::parse_mlip_spec(text, "text");
            std::cout << "accepted\n";
        } catch (const nvalchemi::SpecError& error) {
            std::cout << "refused " << error.what() << "\n";
        }
    }
}
