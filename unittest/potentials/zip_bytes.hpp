// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_UNITTEST_POTENTIALS_ZIP_BYTES_HPP
#define NVALCHEMI_UNITTEST_POTENTIALS_ZIP_BYTES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "potentials/zip_directory.hpp"

namespace nvalchemi::testing {

/// A number of `bytes` bytes, the lowest first.
inline std::string little(std::uint64_t value, int bytes) {
    std::string text;
    for (int k = 0; k < bytes; ++k)
        text += k < 8 ? static_cast<char>((value >> (8 * k)) & 255) : '\0';
    return text;
}

struct File {
    std::string name, content;
    int method = 0;
    int flags = 0;
    std::string name_in_directory = {};  // the same if empty
    std::int64_t size = -1;              // the content's if negative
    std::int64_t offset = -1;            // its own if negative
};

/// A zip archive; `large`: with the 64-bit end that torch writes.
inline std::string zip(const std::vector<File>& files, bool large = false) {
    std::string archive, directory;
    for (const auto& file : files) {
        const auto offset = file.offset < 0 ? archive.size() : std::size_t(file.offset);
        const auto size = file.size < 0 ? file.content.size() : std::size_t(file.size);
        const auto packed = file.method == 0 ? size : file.content.size();
        const auto common = little(20, 2) + little(file.flags, 2) + little(file.method, 2) +
                            little(0, 4) + little(zip_checksum(file.content), 4);
        archive += "PK\x03\x04" + common + little(packed, 4) + little(size, 4) +
                   little(file.name.size(), 2) + little(0, 2) + file.name + file.content;
        const auto& name = file.name_in_directory.empty() ? file.name : file.name_in_directory;
        const auto extra = large ? little(1, 2) + little(24, 2) + little(size, 8) +
                                       little(packed, 8) + little(offset, 8)
                                 : "";
        const auto shown = large ? 0xffffffffU : size;
        const auto shown_packed = large ? 0xffffffffU : packed;
        directory += "PK\x01\x02" + little(20, 2) + common + little(shown_packed, 4) +
                     little(shown, 4) + little(name.size(), 2) + little(extra.size(), 2) +
                     little(0, 10) + little(large ? 0xffffffffU : offset, 4) + name + extra;
    }
    const auto first = archive.size();
    archive += directory;
    if (large) {
        const auto end = archive.size();
        archive += "PK\x06\x06" + little(44, 8) + little(0, 12) + little(files.size(), 8) +
                   little(files.size(), 8) + little(directory.size(), 8) + little(first, 8);
        archive += "PK\x06\x07" + little(0, 4) + little(end, 8) + little(1, 4);
    }
    return archive + "PK\x05\x06" + little(0, 4) + little(files.size(), 2) +
           little(files.size(), 2) + little(directory.size(), 4) + little(first, 4) + little(0, 2);
}

}  // namespace nvalchemi::testing

#endif
