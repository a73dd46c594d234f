// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/extended_header.h>

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include <executorch/runtime/platform/runtime.h>

using executorch::runtime::Error;
using executorch::runtime::ExtendedHeader;

namespace {

// The header of the documents' example: 0x2f0 bytes of program, and 0x20 bytes of segments at 0x1000.
std::array<uint8_t, ExtendedHeader::kNumHeadBytes> example() {
  return {0x38, 0, 0, 0, 'E', 'T',  '1', '2', 'e', 'h', '0', '0', 0x20, 0, 0, 0, 0xf0, 0x02, 0, 0,
          0,    0, 0, 0, 0,   0x10, 0,   0,   0,   0,   0,   0,   0x20, 0, 0, 0, 0,    0,    0, 0};
}

Error parse_error(const std::array<uint8_t, ExtendedHeader::kNumHeadBytes>& bytes) {
  return ExtendedHeader::Parse(bytes.data(), bytes.size()).error();
}

class ExtendedHeaderTest : public ::testing::Test {
 protected:
  void SetUp() override { executorch::runtime::runtime_init(); }
};

TEST_F(ExtendedHeaderTest, ReadsEveryField) {
  const auto bytes = example();
  const auto header = ExtendedHeader::Parse(bytes.data(), bytes.size());
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->program_size, 0x2f0u);
  EXPECT_EQ(header->segment_base_offset, 0x1000u);
  EXPECT_EQ(header->segment_data_size, 0x20u);
}

TEST_F(ExtendedHeaderTest, ShortHeaderOfOlderFilesHasNoSegmentDataSize) {
  auto bytes = example();
  bytes[12] = 24;
  const auto header = ExtendedHeader::Parse(bytes.data(), bytes.size());
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->segment_base_offset, 0x1000u);
  EXPECT_EQ(header->segment_data_size, 0u);
}

TEST_F(ExtendedHeaderTest, WithoutMagicThereIsNoHeader) {
  for (const size_t position : {8, 9, 10, 11}) {
    auto bytes = example();
    bytes[position] ^= 1;
    EXPECT_EQ(parse_error(bytes), Error::NotFound);
  }
}

TEST_F(ExtendedHeaderTest, FewerBytesThanAHeadIsAnInvalidArgument) {
  const auto bytes = example();
  EXPECT_EQ(ExtendedHeader::Parse(bytes.data(), bytes.size() - 1).error(), Error::InvalidArgument);
  EXPECT_EQ(ExtendedHeader::Parse(bytes.data(), 0).error(), Error::InvalidArgument);
}

TEST_F(ExtendedHeaderTest, FieldsThatContradictEachOtherAreRefused) {
  auto too_short = example();
  too_short[12] = 23;
  EXPECT_EQ(parse_error(too_short), Error::InvalidProgram);

  auto program_ends_in_header = example();
  program_ends_in_header[16] = 31;
  program_ends_in_header[17] = 0;
  EXPECT_EQ(parse_error(program_ends_in_header), Error::InvalidProgram);

  auto segments_inside_program = example();
  segments_inside_program[25] = 0x02;  // 0x200 < 0x2f0
  EXPECT_EQ(parse_error(segments_inside_program), Error::InvalidProgram);

  auto segments_nowhere = example();
  segments_nowhere[25] = 0;
  EXPECT_EQ(parse_error(segments_nowhere), Error::InvalidProgram);

  auto past_64_bits = example();
  std::memset(past_64_bits.data() + 32, 0xff, 8);
  EXPECT_EQ(parse_error(past_64_bits), Error::InvalidProgram);
}

}  // namespace
