// SPDX-License-Identifier: BSD-3-Clause
// The examples of FIPS 180-4, and a comparison of the processor's SHA instructions with the definition.
#include <executorch/extension/file_cache/sha256.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace executorch {
namespace extension {
namespace {

Sha256 expected(const char* digits) {
  const auto found = read_sha256(digits);
  EXPECT_TRUE(found.has_value()) << digits;
  return found.value_or(Sha256{});
}

TEST(Sha256, IsThatOfItsExamples) {
  const std::string million(1000000, 'a');
  const struct {
    std::string message;
    const char* digest;
  } examples[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& example : examples) {
    const void* data = example.message.empty() ? nullptr : example.message.data();
    EXPECT_EQ(sha256(data, example.message.size()), expected(example.digest));
    EXPECT_EQ(sha256_portable(data, example.message.size()), expected(example.digest));
  }
}

TEST(Sha256, IsTheSameWithAndWithoutInstructionsForIt) {
  std::vector<uint8_t> bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i * i + 7 * i);
  }
  for (size_t size = 0; size + 3 <= bytes.size(); ++size) {
    EXPECT_EQ(sha256(bytes.data() + size % 3, size), sha256_portable(bytes.data() + size % 3, size)) << size;
  }
}

TEST(Sha256, IsReadFromLowerCaseDigitsOnly) {
  const std::string digits(64, '0');
  EXPECT_TRUE(read_sha256(digits).has_value());
  EXPECT_FALSE(read_sha256("").has_value());
  EXPECT_FALSE(read_sha256(digits + "0").has_value());
  EXPECT_FALSE(read_sha256(digits.substr(1)).has_value());
  for (const char other : {'A', 'g', '/', ':', '`', '\0'}) {
    std::string text = digits;
    text[63] = other;
    EXPECT_FALSE(read_sha256(text).has_value()) << other;
  }
}

}  // namespace
}  // namespace extension
}  // namespace executorch
