// SPDX-License-Identifier: GPL-2.0-only
#ifndef NVALCHEMI_POTENTIALS_ZIP_DIRECTORY_HPP
#define NVALCHEMI_POTENTIALS_ZIP_DIRECTORY_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nvalchemi {

/// A file inside a zip archive.
struct ZipEntry {
    std::string name;
    std::string_view content;    ///< as it lies in the archive; refers to the archive's bytes
    bool compressed = false;     ///< by the format's method 8, deflate; otherwise stored as it is
    std::uint64_t size = 0;      ///< uncompressed
    std::uint32_t checksum = 0;  ///< of the uncompressed content
};

/// What all compressed files of an archive may unpack to: they hold a model's code and its
/// debugging information, weights are stored as they are.
inline constexpr std::uint64_t kMostUnpackedBytes = std::uint64_t(1) << 28;

/// The files of a zip archive as torch.jit.save writes it. Every byte of stored files is compared
/// with its checksum, which LibTorch does not do. Throws std::runtime_error that names the file and
/// what is wrong: an end or a part of the archive that is missing, a checksum that differs, more
/// than kMostUnpackedBytes, another compression, encryption, a name that leads out of the archive
/// or occurs twice.
std::vector<ZipEntry> read_zip_directory(std::string_view archive);

/// The checksum of the zip format (CRC-32, ISO 3309).
std::uint32_t zip_checksum(std::string_view bytes);

}  // namespace nvalchemi

#endif
