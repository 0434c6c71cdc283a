// SPDX-License-Identifier: GPL-2.0-only
#include "potentials/zip_directory.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

namespace nvalchemi {

namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kLargeEndSignature = 0x06064b50;
constexpr std::uint32_t kLargeLocatorSignature = 0x07064b50;
constexpr std::uint32_t kEntrySignature = 0x02014b50;
constexpr std::uint32_t kFileSignature = 0x04034b50;
constexpr std::size_t kEndBytes = 22, kLargeLocatorBytes = 20, kEntryBytes = 46, kFileBytes = 30;
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint64_t kInExtraField = 0xffffffff;  // a 32-bit number that is too small
constexpr std::uint64_t kDeflate = 8;
constexpr std::uint16_t kLargeNumbers = 1;  // the extra field that holds them

[[noreturn]] void refuse(const std::string& what) {
    throw std::runtime_error("damaged zip archive: " + what);
}

/// Little-endian number of `bytes` bytes; an offset outside of the archive is an error.
std::uint64_t number(std::string_view archive, std::uint64_t at, int bytes) {
    if (at > archive.size() || archive.size() - at < static_cast<std::size_t>(bytes))
        refuse("got an offset of " + std::to_string(at) + " in " + std::to_string(archive.size()) +
               " bytes; the file may have been cut short");
    std::uint64_t value = 0;
    for (int k = bytes - 1; k >= 0; --k)
        value = (value << 8) | static_cast<unsigned char>(archive[at + static_cast<unsigned>(k)]);
    return value;
}

/// `count` bytes from `at`.
std::string_view part(std::string_view archive, std::uint64_t at, std::uint64_t count) {
    if (at > archive.size() || archive.size() - at < count)
        refuse("got a file of " + std::to_string(count) + " bytes at " + std::to_string(at) +
               ", expected it inside the archive's " + std::to_string(archive.size()) + " bytes");
    return archive.substr(at, count);
}

struct Directory {
    std::uint64_t first = 0;    ///< offset of the first entry
    std::uint64_t entries = 0;  ///< their number
};

Directory find_directory(std::string_view archive) {
    if (archive.size() < kEndBytes) refuse("got " + std::to_string(archive.size()) + " bytes");
    const std::size_t last = archive.size() - kEndBytes;
    const std::size_t lowest = last > kLongestComment ? last - kLongestComment : 0;
    std::size_t end = last;
    while (number(archive, end, 4) != kEndSignature) {
        if (end == lowest) refuse("got no end of its directory; the file may have been cut short");
        --end;
    }
    Directory directory{number(archive, end + 16, 4), number(archive, end + 10, 2)};
    if (end < kLargeLocatorBytes ||
        number(archive, end - kLargeLocatorBytes, 4) != kLargeLocatorSignature)
        return directory;
    const auto large = number(archive, end - kLargeLocatorBytes + 8, 8);
    if (number(archive, large, 4) != kLargeEndSignature) refuse("got no directory of large files");
    directory.entries = number(archive, large + 32, 8);
    directory.first = number(archive, large + 48, 8);
    return directory;
}

/// What the directory says of one file.
struct Header {
    std::uint64_t compressed = 0, size = 0, local = 0;
    std::uint32_t checksum = 0;
    bool deflated = false;
    std::uint64_t next = 0;  ///< offset of the next entry
    std::string name;
};

void read_large_numbers(std::string_view archive, std::uint64_t at, std::uint64_t end,
                        Header& header) {
    while (at + 4 <= end) {
        const auto kind = number(archive, at, 2), bytes = number(archive, at + 2, 2);
        at += 4;
        if (kind == kLargeNumbers) {
            for (auto* value : {&header.size, &header.compressed, &header.local}) {
                if (*value != kInExtraField) continue;
                if (at + 8 > end) refuse(header.name + ": got a size without its number");
                *value = number(archive, at, 8);
                at += 8;
            }
            return;
        }
        at += bytes;
    }
}

void check_name(const std::string& name) {
    const bool leads_out = name.empty() || name[0] == '/' || name.find('\\') != name.npos ||
                           ("/" + name + "/").find("/../") != name.npos ||
                           name.find('\0') != name.npos;
    if (leads_out) refuse("got a file named '" + name + "', which leads out of the archive");
}

Header read_header(std::string_view archive, std::uint64_t at) {
    if (number(archive, at, 4) != kEntrySignature)
        refuse("got no entry at " + std::to_string(at) + " of its directory");
    Header header;
    const auto flags = number(archive, at + 8, 2), method = number(archive, at + 10, 2);
    header.checksum = static_cast<std::uint32_t>(number(archive, at + 16, 4));
    header.compressed = number(archive, at + 20, 4);
    header.size = number(archive, at + 24, 4);
    header.local = number(archive, at + 42, 4);
    const auto name_bytes = number(archive, at + 28, 2), extra_bytes = number(archive, at + 30, 2);
    header.next = at + kEntryBytes + name_bytes + extra_bytes + number(archive, at + 32, 2);
    header.name = std::string(part(archive, at + kEntryBytes, name_bytes));
    const auto extra = at + kEntryBytes + name_bytes;
    read_large_numbers(archive, extra, extra + extra_bytes, header);
    check_name(header.name);
    if ((flags & 1) != 0) refuse(header.name + ": got an encrypted file");
    header.deflated = method == kDeflate;
    if (method != 0 && method != kDeflate)
        refuse(header.name + ": got compression method " + std::to_string(method) +
               ", expected a file that is stored as it is or deflated");
    if (method == 0 && header.compressed != header.size)
        refuse(header.name + ": got a stored file of two sizes");
    return header;
}

std::string_view content_of(std::string_view archive, const Header& header) {
    if (number(archive, header.local, 4) != kFileSignature)
        refuse(header.name + ": got no file at " + std::to_string(header.local));
    const auto name_bytes = number(archive, header.local + 26, 2);
    const auto extra_bytes = number(archive, header.local + 28, 2);
    if (part(archive, header.local + kFileBytes, name_bytes) != header.name)
        refuse(header.name + ": got another name beside its content");
    const auto content =
        part(archive, header.local + kFileBytes + name_bytes + extra_bytes, header.compressed);
    if (!header.deflated && zip_checksum(content) != header.checksum)
        refuse(header.name + ": its content does not have its checksum. Copy or export it again");
    return content;
}

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

/// Remainders of each byte, and of each byte that 1 to 7 others follow.
Table make_table() {
    Table table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 1) != 0 ? (value >> 1) ^ 0xedb88320U : value >> 1;
        table[0][byte] = value;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t byte = 0; byte < 256; ++byte)
            table[k][byte] = (table[k - 1][byte] >> 8) ^ table[0][table[k - 1][byte] & 255];
    return table;
}

}  // namespace

std::uint32_t zip_checksum(std::string_view bytes) {
    static const Table table = make_table();
    std::uint32_t value = 0xffffffffU;
    std::size_t at = 0;
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(bytes[k]); };
    for (; at + 8 <= bytes.size(); at += 8) {
        const std::uint32_t low =
            value ^ (std::uint32_t(byte(at)) | std::uint32_t(byte(at + 1)) << 8 |
                     std::uint32_t(byte(at + 2)) << 16 | std::uint32_t(byte(at + 3)) << 24);
        value = table[7][low & 255] ^ table[6][(low >> 8) & 255] ^ table[5][(low >> 16) & 255] ^
                table[4][low >> 24] ^ table[3][byte(at + 4)] ^ table[2][byte(at + 5)] ^
                table[1][byte(at + 6)] ^ table[0][byte(at + 7)];
    }
    for (; at < bytes.size(); ++at) value = table[0][(value ^ byte(at)) & 255] ^ (value >> 8);
    return value ^ 0xffffffffU;
}

std::vector<ZipEntry> read_zip_directory(std::string_view archive) {
    const auto directory = find_directory(archive);
    std::vector<ZipEntry> entries;
    std::set<std::string> names;
    std::uint64_t total = 0, unpacked = 0;
    auto at = directory.first;
    for (std::uint64_t k = 0; k < directory.entries; ++k) {
        const auto header = read_header(archive, at);
        if (!names.insert(header.name).second) refuse("got two files named '" + header.name + "'");
        // files that share their bytes would cost more time than the archive is long
        total += std::min(header.compressed, archive.size() + 1);
        if (total > archive.size()) refuse("got files that overlap");
        if (header.deflated) unpacked += std::min(header.size, kMostUnpackedBytes + 1);
        if (unpacked > kMostUnpackedBytes)
            refuse(header.name + ": got compressed files of more than " +
                   std::to_string(kMostUnpackedBytes) + " bytes");
        entries.push_back({header.name, content_of(archive, header), header.deflated, header.size,
                           header.checksum});
        at = header.next;
    }
    return entries;
}

}  // namespace nvalchemi
