// SPDX-License-Identifier: GPL-2.0-only
// Archives as torch writes them, damaged and malicious ones. Bytes are put together here.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "potentials/zip_directory.hpp"

namespace nvalchemi {
namespace {

std::string little(std::uint64_t value, int bytes) {
    std::string text;
    for (int k = 0; k < bytes; ++k) text += static_cast<char>((value >> (8 * k)) & 255);
    return text;
}

struct File {
    std::string name, content;
    int method = 0;
    int flags = 0;
    std::string name_in_directory;  // the same if empty
    std::int64_t size = -1;         // the content's if negative
    std::int64_t offset = -1;       // its own if negative
};

/// A zip archive; `large`: with the 64-bit end that torch writes.
std::string zip(const std::vector<File>& files, bool large = false) {
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
        const auto extra =
            large ? little(1, 2) + little(24, 2) + little(size, 8) + little(packed, 8) +
                        little(offset, 8)
                  : "";
        const auto shown = large ? 0xffffffffU : size;
        const auto shown_packed = large ? 0xffffffffU : packed;
        directory += "PK\x01\x02" + little(20, 2) + common + little(shown_packed, 4) + little(shown, 4) +
                     little(name.size(), 2) + little(extra.size(), 2) + little(0, 10) +
                     little(large ? 0xffffffffU : offset, 4) + name + extra;
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

std::string refusal(const std::string& archive) {
    try {
        read_zip_directory(archive);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "accepted";
}

const std::vector<File> TWO = {{"net/data.pkl", "weights and more"}, {"net/code/a.py", "x = 1\n"}};

TEST(ZipChecksum, IsTheOneOfTheFormat) {
    EXPECT_EQ(zip_checksum("123456789"), 0xcbf43926U);
    EXPECT_EQ(zip_checksum(""), 0U);
    EXPECT_EQ(zip_checksum("The quick brown fox jumps over the lazy dog"), 0x414fa339U);
}

TEST(ReadZipDirectory, FindsFilesInBothForms) {
    for (const bool large : {false, true}) {
        const auto archive = zip(TWO, large);
        const auto entries = read_zip_directory(archive);
        ASSERT_EQ(entries.size(), 2U);
        EXPECT_EQ(entries[0].name, "net/data.pkl");
        EXPECT_EQ(entries[0].content, "weights and more");
        EXPECT_EQ(entries[1].content, "x = 1\n");
    }
}

TEST(ReadZipDirectory, RefusesEveryArchiveThatWasCutShort) {
    for (const bool large : {false, true}) {
        const auto whole = zip(TWO, large);
        for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
            EXPECT_NE(refusal(whole.substr(0, bytes)), "accepted") << bytes;
    }
}

TEST(ReadZipDirectory, SeesEveryChangedByteOfAContent) {
    const auto whole = zip(TWO);
    for (const auto& file : TWO) {
        const auto first = whole.find(file.content);
        for (std::size_t k = 0; k < file.content.size(); ++k) {
            auto changed = whole;
            changed[first + k] ^= 16;
            EXPECT_NE(refusal(changed).find(file.name + ": its content does not have its checksum"),
                      std::string::npos);
        }
    }
}

TEST(ReadZipDirectory, RefusesWhatUnpacksToMoreThanItIs) {
    EXPECT_EQ(refusal(zip({{"net/code.py", "deflated", 8}})), "accepted");
    EXPECT_NE(refusal(zip({{"net/bomb", "small", 8, 0, "", 1 << 29}}, true))
                  .find("net/bomb: got compressed files of more than 268435456 bytes"),
              std::string::npos);
    EXPECT_NE(refusal(zip({{"net/bzip", "small", 12}})).find("net/bzip: got compression method 12"),
              std::string::npos);
    EXPECT_NE(refusal(zip({{"net/long", "small", 0, 0, "", 1000000}})).find("overlap"),
              std::string::npos);
    const std::string content(400, 'a');
    EXPECT_NE(refusal(zip({{"a", content}, {"a", content, 0, 0, "b", 400, 0}})).find("name"),
              std::string::npos);
}

TEST(ReadZipDirectory, RefusesNamesThatLeadOut) {
    for (const std::string name : {"../evil", "net/../../evil", "/etc/evil", "net\\evil"})
        EXPECT_NE(refusal(zip({{name, "x"}})).find("'" + name + "', which leads out"),
                  std::string::npos)
            << name;
    EXPECT_EQ(refusal(zip({{"net/..hidden/a..b", "x"}})), "accepted");
}

TEST(ReadZipDirectory, RefusesTwoMeaningsOfOneArchive) {
    EXPECT_NE(refusal(zip({{"a", "x"}, {"a", "y"}})).find("two files named 'a'"),
              std::string::npos);
    EXPECT_NE(refusal(zip({{"a", "x", 0, 0, "b"}})).find("b: got another name"),
              std::string::npos);
    EXPECT_NE(refusal(zip({{"a", "x", 0, 1}})).find("a: got an encrypted file"),
              std::string::npos);
}

}  // namespace
}  // namespace nvalchemi
