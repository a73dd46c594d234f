// SPDX-License-Identifier: BSD-3-Clause
// Regular expressions, which are matched on windows of a text: the matches are those of PCRE2 on the whole text, and
// the time is within the budget.
#include "src/regex.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <pcre2.h>

namespace {

using tokenizers::Error;
using tokenizers::detail::Regex;
using tokenizers::detail::RegexSyntax;
using tokenizers::detail::Work;
using Found = std::vector<std::pair<size_t, size_t>>;

std::string repeated(const std::string& part, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; i++) {
    all += part;
  }
  return all;
}

/// The matches of PCRE2 on the whole text. False if the expression is wrong, or takes too many steps.
bool expected(const std::string& pattern, const std::string& text, Found& found) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_ALT_EXTENDED_CLASS, &error, &offset, nullptr);
  if (code == nullptr) {
    return false;
  }
  pcre2_match_data* data = pcre2_match_data_create_from_pattern(code, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(context, 20'000);
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data);
  int status = 0;
  for (size_t at = 0, last = text.size() + 1; at <= text.size() && status >= 0;) {
    status = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0, data, context);
    if (status < 0) {
      break;
    }
    if (ends[0] < ends[1] || ends[0] != last) {
      found.emplace_back(ends[0], ends[1]);
    }
    last = at = ends[1];
    if (ends[0] == ends[1]) {
      do {
        at++;
      } while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
    }
  }
  pcre2_match_context_free(context);
  pcre2_match_data_free(data);
  pcre2_code_free(code);
  return status == PCRE2_ERROR_NOMATCH || status >= 0;
}

Error matches(const std::string& pattern, const std::string& text, Found& found) {
  Work load(Work::Kind::kLoad, pattern.size()), work(Work::Kind::kEncode, text.size());
  Regex regex;
  const Error compiled = regex.compile(pattern, RegexSyntax::kOniguruma, load);
  return compiled != Error::Ok ? compiled : regex.for_each(text, work, [&](size_t begin, size_t end) {
    found.emplace_back(begin, end);
    return Error::Ok;
  });
}

/// Expressions of tokenizers that are in use.
std::vector<std::string> real() {
  return {
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"( ?[^(\s|[.,!?…。，、।۔،])]+)",
      R"([一-龥぀-ゟ゠-ヿ]+)",
      R"(\d{1,3}(?=(?:\d{3})*\b))",
      R"([\r\n])",
      R"(\s?\p{P}+)",
      R"( {2,})",
      R"((?<=\d)(?=\p{L})|(?<=\p{L})(?=\d))",
      R"(^\s+)",
      R"((?:\r?\n)+(?!\r?\n))",
  };
}

/// Runs, short and long, of characters that the expressions distinguish.
std::string random_text(std::mt19937& random, const std::vector<std::string>& parts, size_t longest) {
  std::string text;
  const size_t count = random() % 24;
  for (size_t i = 0; i < count; i++) {
    const size_t run = random() % 6 == 0 ? random() % longest : random() % 4;
    text += repeated(parts[random() % parts.size()], run);
  }
  return text;
}

void compare(const std::string& pattern, const std::string& text, size_t& compared) {
  Found right, found;
  if (!expected(pattern, text, right)) {
    return;
  }
  const Error error = matches(pattern, text, found);
  ASSERT_TRUE(error == Error::Ok || error == Error::EncodeFailure) << pattern << "\n" << text;
  if (error == Error::Ok) {
    ASSERT_EQ(found, right) << pattern << "\n" << text;
    compared++;
  }
}

TEST(RegexTest, RealExpressionsOnRandomTexts) {
  const std::vector<std::string> parts = {"a",         "B",           "é", "中",  "ひ", " ", "\n",
                                          "\r\n",      "\t",          "7", "'ll", ".",  ",", "\xF0\x9F\x98\x80",
                                          "e\xCC\x81", "\xE3\x80\x80"};
  std::mt19937 random(1);
  size_t compared = 0;
  std::vector<std::string> patterns = real();
  patterns.emplace_back("\\s+$");  // not in real(): a run of spaces is read again from each space
  for (const std::string& pattern : patterns) {
    for (int i = 0; i < 40; i++) {
      compare(pattern, random_text(random, parts, 700), compared);
    }
  }
  EXPECT_EQ(compared, 40 * patterns.size());
}

std::string random_expression(std::mt19937& random, int depth) {
  const std::vector<std::string> atoms = {"a",   "b",   "c",   ".",      "\\n", "[^b]",  "[ab]",
                                          "\\w", "\\X", "\\R", "\\p{L}", "é",   "(?i:A)"};
  // Assertions, which this function does not repeat.
  const std::vector<std::string> places = {"\\b", "\\B", "^", "$", "\\z", "\\Z", "\\A", "(?<=a)", "(?<!b)", "(?<=\\n)"};
  const std::vector<std::string> opening = {"(?:", "(?=", "(?!", "(?>", "("};
  const std::vector<std::string> repeats = {"", "", "", "*", "+", "?", "{2,5}", "*?", "+?", "*+", "{130,}"};
  std::string made;
  const size_t alternatives = 1 + random() % 2;
  for (size_t i = 0; i < alternatives; i++) {
    made += i > 0 ? "|" : "";
    const size_t count = 1 + random() % 3;
    for (size_t j = 0; j < count; j++) {
      if (random() % 3 == 0) {
        made += places[random() % places.size()];
        continue;
      }
      const bool nested = depth < 2 && random() % 3 == 0;
      made += nested ? opening[random() % opening.size()] + random_expression(random, depth + 1) + ")"
                     : atoms[random() % atoms.size()];
      made += repeats[random() % repeats.size()];
    }
  }
  return made;
}

TEST(RegexTest, RandomExpressionsOnRandomTexts) {
  const std::vector<std::string> parts = {"a", "b", "c", "\n", "\r\n", "é", "A", " ", "e\xCC\x81"};
  std::mt19937 random(2);
  size_t compared = 0;
  for (int i = 0; i < 1000; i++) {
    compare(random_expression(random, 0), random_text(random, parts, 200), compared);
  }
  EXPECT_GT(compared, 700U);
}

TEST(RegexTest, LongRunsAreWithinTheBudgetOfRealExpressions) {
  for (const std::string& pattern : real()) {
    for (const char* part : {"a", "A", "aB", "中", " ", "\n", "\r\n", "7 ", ".", "a ", "\t\n"}) {
      const std::string text = repeated(part, 30'000) + "x";
      Found found;
      EXPECT_EQ(matches(pattern, text, found), Error::Ok) << pattern << " on " << part;
    }
  }
}

/// PCRE2's limit of steps does not count repetitions of one character: each of these takes quadratic time.
TEST(RegexTest, TimeDoesNotGrowWithTheSquareOfTheText) {
  for (const char* pattern : {
           "a(?=[^b]*b)|a",
           "a(?=[^b]*c)|a",
           "[^b]*[cd]",
           "[^b]*[^b]*[cd]",
           "a(?![^b]*b)|a",
           "(?=[^b]*b)",
           "a(?>[^b]*)(?:b|c)|a",
           "a(?:[^b]*?[bc])|a",
           "a[^b]{0,60000}b|a",
           "(?<=a)(?=[^b]*[bc])",
           "a\\X*b|a",
           "a(?=.*$b)|a",
           "(?:^|)a(?=[^b]*b)|a",
           "(a)(?=[^b]*\\1b)|a",
       }) {
    Found found;
    const Error error = matches(pattern, std::string(20'000, 'a'), found);
    EXPECT_TRUE(error == Error::EncodeFailure || error == Error::RegexFailure) << pattern;
  }
  // Trying thousands of alternatives counts, too.
  std::string words = "zz";
  for (int i = 0; i < 3000; i++) {
    words += "|[^b]x" + std::to_string(i);
  }
  Found found;
  EXPECT_EQ(matches(words, std::string(20'000, 'a'), found), Error::EncodeFailure);
}

/// PCRE2 expands repetitions. Too large expressions are refused, with the position, before they take time or memory.
TEST(RegexTest, NestedRepetitionsHaveALimit) {
  for (const char* const repeat : {"{2}", "{1,2}", "{2,}", "{2}+", "{2}?"}) {
    for (const char* const open : {"(", "(?:", "(?>", "(?="}) {
      const std::string pattern = repeated(open, 60) + "a" + repeated(std::string(repeat) + ")", 60);
      Found found;
      testing::internal::CaptureStderr();
      EXPECT_EQ(matches(pattern, "aaaa", found), Error::RegexFailure) << pattern;
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_NE(said.find(" is wrong at byte "), std::string::npos) << said;
      EXPECT_NE(said.find("regular expression is too large; expected at most 64 KiB"), std::string::npos) << said;
    }
  }
  Found found;
  EXPECT_EQ(matches(repeated("(", 12) + "a" + repeated("{2})", 12), std::string(4096, 'a'), found), Error::Ok);
  EXPECT_EQ(found, (Found{{0, 4096}}));
  testing::internal::CaptureStderr();
  EXPECT_EQ(matches(repeated("(", 65) + "a" + repeated(")", 65), "a", found), Error::RegexFailure);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("expected at most 64"), std::string::npos);
}

/// Oniguruma's syntax and Rust's allow nested classes: BLOOM's expression has one.
TEST(RegexTest, ClassesInClasses) {
  Found found;
  ASSERT_EQ(matches("[^(\\s|[.,])]+", "a.b)c|d(e f,g[h]", found), Error::Ok);
  EXPECT_EQ(found, (Found{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 16}}));
  found.clear();
  ASSERT_EQ(matches("[a-z&&[^b]]+|[]^]|[[:digit:]]", "ab]^7", found), Error::Ok);
  EXPECT_EQ(found, (Found{{0, 1}, {2, 3}, {3, 4}, {4, 5}}));
}

TEST(RegexTest, TheStartOfASearchAndOfAMatchAreNotChanged) {
  Found found;
  EXPECT_EQ(matches("(?=ab\\K)", "ab", found), Error::RegexFailure);
  EXPECT_EQ(matches("\\Ga", "aa", found), Error::RegexFailure);
}

}  // namespace
