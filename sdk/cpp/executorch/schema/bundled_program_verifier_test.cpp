// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/bundled_program_verifier.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/runtime/platform/runtime.h>
#include <executorch/schema/bundled_program_generated.h>
#include <executorch/schema/bundled_program_tables.h>

#include "paths.h"

namespace format = bundled_program_flatbuffer;

using executorch::runtime::Error;
using executorch::runtime::internal::kTablesPerByte;
using executorch::runtime::internal::verify_bundled_program;
using executorch::runtime::internal::verify_tables;
using executorch::tests::kCorpusFolder;
using executorch_flatbuffer::ScalarType;

namespace {

using Bytes = std::vector<uint8_t>;

/// Bytes with the alignment that files have in memory.
struct Aligned {
  explicit Aligned(const Bytes& bytes, size_t shift = 0)
      : memory(new(std::align_val_t(32)) uint8_t[bytes.size() + shift + 1]), data(memory.get() + shift) {
    if (!bytes.empty()) {
      std::memcpy(data, bytes.data(), bytes.size());
    }
  }
  struct Delete {
    void operator()(uint8_t* pointer) const { ::operator delete[](pointer, std::align_val_t(32)); }
  };
  std::unique_ptr<uint8_t[], Delete> memory;
  uint8_t* data;
};

Error verify(const Bytes& bytes) {
  const Aligned copy(bytes);
  return verify_bundled_program(copy.data, bytes.size()).error();
}

Bytes corpus_file() {
  std::ifstream file(std::string(kCorpusFolder) + "/bundled/model.bpte", std::ios::binary);
  return Bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

/// A bundled program with one case of one input; tests change its parts.
struct Example {
  std::vector<int32_t> sizes = {2, 3};
  std::vector<uint8_t> dim_order = {0, 1};
  Bytes data = Bytes(24);
  Bytes program = {1};
  ScalarType scalar_type = ScalarType::FLOAT;
  format::ValueUnion type = format::ValueUnion::Tensor;
  bool has_name = true;
  bool has_value = true;

  Bytes bytes() const {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceVectorAlignment(data.size(), 1, 16);
    const auto tensor = format::CreateTensorDirect(builder, scalar_type, &sizes, &data, &dim_order);
    const auto value = format::CreateValue(builder, type, has_value ? tensor.Union() : flatbuffers::Offset<void>());
    const std::vector inputs = {value};
    const std::vector cases = {format::CreateBundledMethodTestCaseDirect(builder, &inputs)};
    const std::vector suites = {
        format::CreateBundledMethodTestSuiteDirect(builder, has_name ? "forward" : nullptr, &cases)};
    builder.Finish(format::CreateBundledProgramDirect(builder, 2, &suites, &program),
                   format::BundledProgramIdentifier());
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
  }
};

class BundledProgramVerifierTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { executorch::runtime::runtime_init(); }
};

TEST_F(BundledProgramVerifierTest, AcceptsAFileOfTheOriginal) {
  const Bytes bytes = corpus_file();
  ASSERT_GT(bytes.size(), 1000u);
  const Aligned copy(bytes);
  const auto bundled = verify_bundled_program(copy.data, bytes.size());
  ASSERT_TRUE(bundled.ok());
  ASSERT_EQ(bundled.get()->method_test_suites()->size(), 1u);
  EXPECT_EQ(bundled.get()->method_test_suites()->Get(0)->method_name()->str(), "forward");
  EXPECT_EQ(bundled.get()->method_test_suites()->Get(0)->test_cases()->size(), 3u);
}

TEST_F(BundledProgramVerifierTest, SaysWhatIsWrong) {
  EXPECT_EQ(verify(Example().bytes()), Error::Ok);
  const auto refused = [](const char* what, Example example) {
    EXPECT_EQ(verify(example.bytes()), Error::InvalidExternalData) << what;
  };
  Example example;
  example.data.resize(23);
  refused("too few bytes", example);
  example.data.resize(25);
  refused("too many bytes", example);
  example = Example();
  example.dim_order = {1, 1};
  refused("a dim order that is not a permutation", example);
  example = Example();
  example.sizes = {2, -3};
  refused("a negative size", example);
  example = Example();
  example.sizes = {INT32_MAX, INT32_MAX};
  refused("more elements than there is memory", example);
  example = Example();
  example.scalar_type = static_cast<ScalarType>(100);
  refused("an unknown dtype", example);
  example = Example();
  example.type = static_cast<format::ValueUnion>(5);
  refused("a value of an unknown type", example);
  example = Example();
  example.has_value = false;
  refused("a tensor that is not there", example);
  example = Example();
  example.has_name = false;
  refused("a suite for no method", example);
  example = Example();
  example.program.clear();
  refused("no program", example);
}

TEST_F(BundledProgramVerifierTest, AcceptsNumbersScalarsAndNothing) {
  Example example;
  example.sizes.clear();
  example.dim_order.clear();
  example.data.resize(4);
  EXPECT_EQ(verify(example.bytes()), Error::Ok);
  example.type = format::ValueUnion::NONE;
  example.has_value = false;
  EXPECT_EQ(verify(example.bytes()), Error::Ok);
}

TEST_F(BundledProgramVerifierTest, ForeignShortAndShiftedFiles) {
  EXPECT_EQ(verify({}), Error::InvalidExternalData);
  EXPECT_EQ(verify(Bytes(7)), Error::InvalidExternalData);
  EXPECT_EQ(verify(Bytes(100)), Error::InvalidExternalData);
  const Bytes bytes = Example().bytes();
  const Aligned shifted(bytes, 4);
  EXPECT_EQ(verify_bundled_program(shifted.data, bytes.size()).error(), Error::InvalidArgument);
}

/// The verdict of flatc's generated code, within the limits of verify_tables().
bool generated_verdict(const uint8_t* data, size_t size) {
  flatbuffers::Verifier::Options options;
  options.max_depth = 32;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(size * kTablesPerByte);
  flatbuffers::Verifier verifier(data, size, options);
  return format::VerifyBundledProgramBuffer(verifier);
}

// What is accepted after damage must still be safe to read; the sanitizers check this.
TEST_F(BundledProgramVerifierTest, DamageIsRefusedOrHarmless) {
  const Bytes whole = Example().bytes();
  size_t refused = 0;
  const auto check = [&refused](const Bytes& bytes) {
    const Aligned copy(bytes);
    const bool sound = generated_verdict(copy.data, bytes.size());
    ASSERT_EQ(verify_tables(format::kBundledProgramSchema, copy.data, bytes.size(), format::BundledProgramIdentifier()),
              bytes.size() >= 10 && sound);
    const auto bundled = verify_bundled_program(copy.data, bytes.size());
    ASSERT_TRUE(sound || !bundled.ok());
    if (!bundled.ok()) {
      ++refused;
      return;
    }
    EXPECT_GT(bundled.get()->program()->size(), 0u);
  };
  for (size_t size = 0; size < whole.size(); ++size) {
    check(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  // The last bytes are padding.
  EXPECT_GT(refused, whole.size() - 16);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes damaged = whole;
    damaged[bit / 8] = static_cast<uint8_t>(damaged[bit / 8] ^ (1 << (bit % 8)));
    check(damaged);
  }
  EXPECT_GT(refused, whole.size() + 100);
}

}  // namespace
