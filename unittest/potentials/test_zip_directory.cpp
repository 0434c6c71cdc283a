// SPDX-License-Identifier: GPL-2.0-only
// Archives as torch writes them, damaged and malicious ones. Bytes are put together here.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "potentials/zip_directory.hpp"
#include "unittest/potentials/zip_bytes.hpp"

namespace nvalchemi {
namespace {

using testing::File;
using testing::zip;

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
    EXPECT_NE(refusal(zip({{"a", "x", 0, 0, "b"}})).find("b: got another name"), std::string::npos);
    EXPECT_NE(refusal(zip({{"a", "x", 0, 1}})).find("a: got an encrypted file"), std::string::npos);
}

}  // namespace
}  // namespace nvalchemi
