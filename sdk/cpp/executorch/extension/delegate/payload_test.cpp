// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/delegate/payload.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace extension {
namespace delegate {
namespace {

using runtime::Error;
using runtime::Span;

/// A header, eight bytes of a graph and four of constants.
std::vector<uint8_t> payload() {
  std::vector<uint8_t> bytes(kPayloadHeaderSize + 12);
  std::memcpy(&bytes[4], "TEST", 4);
  bytes[8] = kPayloadHeaderSize;
  bytes[10] = kPayloadHeaderSize;
  bytes[14] = 8;
  bytes[18] = kPayloadHeaderSize + 8;
  bytes[22] = 4;
  std::memcpy(&bytes[kPayloadHeaderSize + 4], "GR01", 4);
  return bytes;
}

Span<const uint8_t> span(const std::vector<uint8_t>& bytes) {
  return {bytes.data(), bytes.size()};
}

class DelegatePayloadTest : public ::testing::Test {
 protected:
  void SetUp() override { runtime::runtime_init(); }
};

TEST_F(DelegatePayloadTest, HasAGraphAndConstants) {
  const std::vector<uint8_t> bytes = payload();
  ASSERT_TRUE(has_payload_header(span(bytes), "TEST"));
  EXPECT_FALSE(has_payload_header(span(bytes), "XH00"));
  const auto parts = split_payload("Backend", span(bytes));
  ASSERT_TRUE(parts.ok());
  EXPECT_TRUE(has_identifier(parts->graph, "GR01"));
  EXPECT_EQ(std::string(identifier_of(parts->graph), 4), "GR01");
  EXPECT_EQ(parts->constants.data(), bytes.data() + kPayloadHeaderSize + 8);
  EXPECT_EQ(parts->constants.size(), 4u);
}

TEST_F(DelegatePayloadTest, FewerBytesThanAHeaderAreNone) {
  const std::vector<uint8_t> bytes = payload();
  for (size_t size = 0; size < kPayloadHeaderSize; ++size) {
    EXPECT_FALSE(has_payload_header({bytes.data(), size}, "TEST"));
  }
}

// Sets each byte of each number to 255, and each number to one more than fits.
TEST_F(DelegatePayloadTest, PartsOutsideOfThePayloadAreRefused) {
  for (const size_t at : {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}) {
    for (const int value : {-1, 0xff}) {
      std::vector<uint8_t> bytes = payload();
      const bool is_lowest = at == 10 || at == 14 || at == 18 || at == 22;
      if (value < 0 && !is_lowest) {
        continue;
      }
      bytes[at] = static_cast<uint8_t>(value < 0 ? bytes[at] + (at < 18 ? 5 : 1) : value);
      EXPECT_EQ(split_payload("Backend", span(bytes)).error(), Error::InvalidProgram) << at << ", " << value;
    }
  }
  std::vector<uint8_t> bytes = payload();
  bytes[8] = kPayloadHeaderSize - 1;
  EXPECT_EQ(split_payload("Backend", span(bytes)).error(), Error::InvalidProgram);
}

TEST_F(DelegatePayloadTest, GraphsAreCopiedOnlyIfTheyAreNotAligned) {
  alignas(16) const uint8_t bytes[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (size_t offset = 0; offset < 16; ++offset) {
    AlignedBytes copy;
    const uint8_t* const graph = aligned_graph({bytes + offset, 16}, copy);
    EXPECT_TRUE(is_aligned(graph, 8));
    EXPECT_EQ(std::memcmp(graph, bytes + offset, 16), 0);
    EXPECT_EQ(copy == nullptr, offset % 8 == 0);
  }
  EXPECT_NE(aligned_copy({}, 3), nullptr);
  EXPECT_FALSE(has_identifier({bytes, 7}, "\5\6\7"));
  EXPECT_STREQ(identifier_of({bytes, 7}), "");
}

}  // namespace
}  // namespace delegate
}  // namespace extension
}  // namespace executorch
