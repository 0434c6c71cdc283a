// SPDX-License-Identifier: GPL-2.0-only
#include "spec/parse_json.hpp"

#include <gtest/gtest.h>

#include "unittest/spec/refusal.hpp"

namespace nvalchemi {

namespace {

const std::string kStandard =
    "expected standard JSON (RFC 8259): one value, double-quoted strings, no comments, no trailing "
    "commas, no NaN or Infinity";

std::string refusal_of_text(const std::string& text, const std::string& root = "") {
    return testing::refusal_of([&] { parse_json(text, "doc", root); });
}

std::string described(const std::string& text) { return describe(parse_json(text, "doc", "")); }

}  // namespace

TEST(ParseJson, KeepsTheTypeOfEveryValue) {
    EXPECT_EQ(described("null"), "null");
    EXPECT_EQ(described("true"), "true");
    EXPECT_EQ(described("-3"), "-3");
    EXPECT_EQ(described("2.0"), "2.0");
    EXPECT_EQ(described("0.1"), "0.1");
    EXPECT_EQ(described("1e300"), "1e+300");
    EXPECT_EQ(described("9223372036854775807"), "9223372036854775807");
    EXPECT_EQ(described("9223372036854775808"), "9223372036854775808.0");
    EXPECT_EQ(described("\"a\\u0041\""), "\"aA\"");
    EXPECT_EQ(described("[]"), "an empty array");
    EXPECT_EQ(described("[1]"), "an array of 1 element");
    EXPECT_EQ(described("{}"), "an empty object");
    EXPECT_EQ(described("{\"a\": 1, \"b\": 2}"), "an object of 2 keys");
}

TEST(ParseJson, KeepsMembersInTheOrderOfTheText) {
    const JsonValue value = parse_json("{\"b\": [1, {\"c\": null}], \"a\": 2}", "doc", "");

    const auto& object = std::get<JsonObject>(value.content);
    ASSERT_EQ(object.size(), 2U);
    EXPECT_EQ(object[0].first, "b");
    EXPECT_EQ(object[1].first, "a");
    const auto& array = std::get<JsonArray>(object[0].second.content);
    ASSERT_EQ(array.size(), 2U);
    EXPECT_EQ(describe(array[0]), "1");
    EXPECT_EQ(describe(array[1]), "an object of 1 key");
}

TEST(ParseJson, RefusesEmptyText) {
    const std::string expected =
        "doc /: got an empty text, expected a JSON object (is the file complete?)";

    EXPECT_EQ(refusal_of_text(""), expected);
    EXPECT_EQ(refusal_of_text(" \n\t"), expected);
}

TEST(ParseJson, RefusesByteOrderMark) {
    EXPECT_EQ(refusal_of_text("\xEF\xBB\xBF{}"),
              "doc /: got a byte order mark at line 1, column 1 (byte 1), expected UTF-8 without "
              "one (save the file as plain UTF-8)");
}

TEST(ParseJson, RefusesNulBytesWhereverTheyAre) {
    const std::string remedy = "), expected text (is it UTF-16, or damaged?)";

    EXPECT_EQ(refusal_of_text(std::string("\0{}", 3)),
              "doc /: got a NUL byte at line 1, column 1 (byte 1" + remedy);
    EXPECT_EQ(refusal_of_text(std::string("{}\n\0 nonsense [", 14)),
              "doc /: got a NUL byte at line 2, column 1 (byte 4" + remedy);
}

TEST(ParseJson, NamesBytesThatAreNoUtf8ByTheirNumber) {
    const std::string long_form = "\"\xC0\xAF\"", cut = "\"\xE2\x82",
                      surrogate = "\"\xED\xA0\x80\"";

    EXPECT_NE(refusal_of_text("\"h\xE1lo\"").find("near \"\\\"h\\xe1l\""), std::string::npos);
    EXPECT_NE(refusal_of_text(long_form).find("\\xc0"), std::string::npos);
    EXPECT_NE(refusal_of_text(surrogate).find("\\xed\\xa0"), std::string::npos);
    EXPECT_EQ(printable(cut), "\"\\xe2\\x82");
    EXPECT_EQ(printable("m\u00e9 \u20ac \U0001F600"), "m\u00e9 \u20ac \U0001F600");
    EXPECT_EQ(printable(std::string("a\0b\x7F", 4)), "a\\x00b\\x7f");
}

TEST(ParseJson, RefusesCommentsNaNAndTrailingText) {
    EXPECT_EQ(refusal_of_text("// c\n{}"),
              "doc /: got text near \"/\" at line 1, column 1 (byte 1), " + kStandard);
    EXPECT_EQ(refusal_of_text("{\n \"x\": NaN}"),
              "doc /: got text near \"\\\"x\\\": N\" at line 2, column 7 (byte 9), " + kStandard);
    EXPECT_EQ(refusal_of_text("{version: 2}"),
              "doc /: got text near \"{v\" at line 1, column 2 (byte 2), " + kStandard);
    EXPECT_EQ(refusal_of_text("[1,]"),
              "doc /: got text near \"1,]\" at line 1, column 4 (byte 4), " + kStandard);
    EXPECT_EQ(refusal_of_text("{} {}"),
              "doc /: got text near \"{} {\" at line 1, column 4 (byte 4), " + kStandard);
}

TEST(ParseJson, RefusesTextThatStopsEarly) {
    EXPECT_EQ(refusal_of_text("{\"a\": [1,\n2"),
              "doc /: got the end of the text at line 2, column 2 (byte 12), " + kStandard);
}

TEST(ParseJson, ShowsTheEndOfLongTextBeforeAProblem) {
    EXPECT_EQ(refusal_of_text("[\"" + std::string(100, 'x') + "\n"),
              "doc /: got text near \"" + std::string(32, 'x') +
                  "<U+000A>\" at line 1, column 103 (byte 103), " + kStandard);
}

TEST(ParseJson, RefusesInvalidUtf8) {
    EXPECT_NE(refusal_of_text("[\"\xC3\x28\"]").find("at line 1, column"), std::string::npos);
}

TEST(ParseJson, RefusesNumbersBeyondDoubleRange) {
    EXPECT_EQ(refusal_of_text("[1e999]"),
              "doc /: got text near \"1e999\" at line 1, column 6 (byte 6), expected a number "
              "within the range of double precision");
}

TEST(ParseJson, NamesThePlaceOfADuplicateKey) {
    EXPECT_EQ(refusal_of_text("{\"a\": [0, {\"b/c\": {\"d\": 1, \"d\": 2}}]}"),
              "doc /a/1/b~1c/d: got the key \"d\" twice, expected each key once (remove one of the "
              "two)");
    EXPECT_EQ(refusal_of_text("{\"v\": 1, \"v\": 1}", "/spec"),
              "doc /spec/v: got the key \"v\" twice, expected each key once (remove one of the "
              "two)");
}

TEST(ParseJson, RefusesDeepNestingInsteadOfExhaustingTheStack) {
    const std::string brackets(1000000, '[');

    EXPECT_EQ(refusal_of_text(brackets),
              "doc /: got arrays or objects nested deeper than 64 levels, expected fewer");
    EXPECT_EQ(described(std::string(64, '[') + std::string(64, ']')), "an array of 1 element");
}

TEST(ParseJson, NeverShowsTextOfTheParsingLibrary) {
    for (const char* text : {"{", "[", "\"", "{\"a\"", "{\"a\":", "tru", "-", "01", "\"\\x\"",
                             "\"\\ud800\"", "[1 2]", "\x01", "{\"a\" 1}", "'a'", "Infinity"}) {
        const std::string message = refusal_of_text(text);
        EXPECT_NE(message, "(accepted)") << text;
        EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
        EXPECT_NE(message.find("at line 1, column "), std::string::npos) << message;
    }
}

TEST(JsonPointerChild, EscapesTildeAndSlash) {
    EXPECT_EQ(json_pointer_child("", "a"), "/a");
    EXPECT_EQ(json_pointer_child("/a", "b~c/d"), "/a/b~0c~1d");
    EXPECT_EQ(json_pointer_child("/a", ""), "/a/");
}

TEST(InQuotes, EscapesControlCharactersAndCutsLongText) {
    EXPECT_EQ(in_quotes("a\n\"b\"\\"), "\"a\\x0a\\\"b\\\"\\\\\"");
    EXPECT_EQ(in_quotes(std::string(61, 'x')), "\"" + std::string(60, 'x') + "...\"");
    EXPECT_EQ(in_quotes(std::string(60, 'x')), "\"" + std::string(60, 'x') + "\"");
    // The two-byte letter that would straddle the limit goes as a whole.
    EXPECT_EQ(in_quotes(std::string(59, 'x') + "\xC3\xA9z"), "\"" + std::string(59, 'x') + "...\"");
}

TEST(ParseJson, TakesTheLastOfManyRepeatedKeys) {
    std::string text = "{";
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 50000; ++i) {
            text += "\"" + std::to_string(i) + "\": " + std::to_string(round) + ",";
        }
    }
    text.back() = '}';
    std::vector<std::string> warnings;

    const JsonValue value = parse_json(text, "text", "", {true, &warnings});

    const auto& object = std::get<JsonObject>(value.content);
    ASSERT_EQ(object.size(), 50000U);
    EXPECT_EQ(object[7].first, "7");
    EXPECT_EQ(std::get<std::int64_t>(object[7].second.content), 1);
    EXPECT_EQ(warnings.size(), 50000U);
}

}  // namespace nvalchemi
