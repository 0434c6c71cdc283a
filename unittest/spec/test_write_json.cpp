// SPDX-License-Identifier: GPL-2.0-only
#include "spec/write_json.hpp"

#include <gtest/gtest.h>

#include "spec/parse_json.hpp"
#include "unittest/spec/refusal.hpp"

namespace nvalchemi {

namespace {

std::string one_line(const std::string& text) {
    return write_json(parse_json(text, "text", ""), JsonLayout::OneLine);
}

std::string refusal_of_string(const std::string& bytes) {
    return testing::refusal_of([&] { write_json(JsonValue{bytes}); });
}

}  // namespace

TEST(WriteJson, LaysOutOneMemberALine) {
    EXPECT_EQ(write_json(parse_json(R"({"a":[1,{"b":null}],"c":{},"d":[]})", "text", "")),
              "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": {},\n"
              "  \"d\": []\n}");
}

TEST(WriteJson, LaysOutOneLine) {
    const std::string text = R"({"a": [1, -2, {"b": null}], "c": {}, "d": [], "e": true})";

    EXPECT_EQ(one_line(text), text);
}

TEST(WriteJson, KeepsIntegersAndDoublesApart) {
    EXPECT_EQ(one_line("[2, 2.0, 0.1, 1e300, -0.0, 9007199254740993, 18446744073709551616]"),
              "[2, 2.0, 0.1, 1e+300, -0.0, 9007199254740993, 18446744073709551616.0]");
}

TEST(WriteJson, EscapesLikePython) {
    EXPECT_EQ(one_line(R"(["\b\f\n\r\t\"\\\/\u0000\u001f\u007f", "\u00e9\u20ac\ud83d\ude00"])"),
              R"(["\b\f\n\r\t\"\\/\u0000\u001f\u007f", "\u00e9\u20ac\ud83d\ude00"])");
}

TEST(WriteJson, RefusesWhatIsNotUtf8) {
    EXPECT_EQ(refusal_of_string("ab\xC3"),
              "JSON text /: got a string with a byte that is not UTF-8 at position 2 of 3, "
              "expected UTF-8");
    for (const std::string bytes :
         {"\x80", "\xC0\x80", "\xC3(", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
        EXPECT_NE(refusal_of_string(bytes), "(accepted)") << bytes;
    }
    for (const std::string bytes : {"\x7F", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF",
                                    "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
        EXPECT_EQ(refusal_of_string(bytes), "(accepted)") << bytes;
    }
}

}  // namespace nvalchemi
