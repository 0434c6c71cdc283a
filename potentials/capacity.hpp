// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_CAPACITY_HPP
#define NVALCHEMI_POTENTIALS_CAPACITY_HPP

#include <cstdint>

namespace nvalchemi {

/// Extent of an array for `count` elements that now has `present`: some more when it must grow or
/// is much too large, else the same, so that counts that go up and down do not change it.
inline std::int64_t capacity_for(std::int64_t count, std::int64_t present) {
    constexpr std::int64_t kLeastRoom = 8;
    constexpr std::int64_t kPart = 64;
    const bool much_too_large = present > 2 * (count + kLeastRoom);
    if (present > 0 && count <= present && !much_too_large) return present;
    return count + count / kPart + kLeastRoom;
}

}  // namespace nvalchemi

#endif
