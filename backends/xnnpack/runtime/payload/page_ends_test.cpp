// SPDX-License-Identifier: BSD-3-Clause
#include "payload/page_ends.h"

#include <gtest/gtest.h>
#include <xnnpack.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/platform/runtime.h>

#include "delegate.h"
#include "payload/payload_testing.h"

#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace executorch {
namespace backends {
namespace xnnpack {
namespace {

using runtime::Error;

bool may_leave(uintptr_t data, size_t size) {
  return may_leave_page(reinterpret_cast<const void*>(data), size);
}

TEST(PageEnds, KernelsLeaveAPageWhereItsEndIsCloserThanTheirVectors) {
  EXPECT_FALSE(may_leave(8192, 4096 - XNN_EXTRA_BYTES));
  EXPECT_TRUE(may_leave(8192, 4096 - XNN_EXTRA_BYTES + 1));
  EXPECT_TRUE(may_leave(8192, 4096));
  EXPECT_FALSE(may_leave(8192, 4096 + 1));  // the last byte begins the next page
  EXPECT_TRUE(may_leave(8192 + 4092, 4));
  EXPECT_FALSE(may_leave(8192, 0));
}

TEST(PageEnds, InputsAreCopiedAtOnceAndResultsInTheEnd) {
  std::vector<float> input{1, 2, 3}, result{4, 5, 6};
  void* moved_input = input.data();
  void* moved_result = result.data();
  MovedArguments moved;
  ASSERT_EQ(moved.move(moved_input, 12, /*is_input=*/true), Error::Ok);
  ASSERT_EQ(moved.move(moved_result, 12, /*is_input=*/false), Error::Ok);
  ASSERT_NE(moved_input, input.data());
  ASSERT_NE(moved_result, result.data());
  auto* numbers = static_cast<float*>(moved_input);
  EXPECT_EQ(std::vector<float>(numbers, numbers + 3), (std::vector<float>{1, 2, 3}));
  std::fill_n(numbers, 3, 7.0f);
  std::fill_n(static_cast<float*>(moved_result), 3, 8.0f);
  EXPECT_EQ(result, (std::vector<float>{4, 5, 6}));
  moved.finish();
  EXPECT_EQ(input, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(result, (std::vector<float>{8, 8, 8}));
}

#ifndef _WIN32
/// Floats that end where a page ends; the next page cannot be accessed.
class AtPageEnd final {
 public:
  explicit AtPageEnd(size_t count) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    start_ = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(start_, MAP_FAILED);
    EXPECT_EQ(mprotect(static_cast<uint8_t*>(start_) + page_, page_, PROT_NONE), 0);
    data = reinterpret_cast<float*>(static_cast<uint8_t*>(start_) + page_) - count;
  }
  ~AtPageEnd() { munmap(start_, 2 * page_); }
  AtPageEnd(const AtPageEnd&) = delete;
  AtPageEnd& operator=(const AtPageEnd&) = delete;

  float* data;

 private:
  size_t page_;
  void* start_;
};

// Kernels for NEON and SSE have no masked loads and read past the end: without the copies this test crashes there.
TEST(PageEnds, ArgumentsOfADelegateMayEndWithTheirPage) {
  runtime::runtime_init();
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  constexpr size_t kCount = 7;
  PayloadWriter writer;
  const PayloadWriter::Dims dims = {kCount};
  const uint32_t in = writer.input(XNNDatatype::xnn_datatype_fp32, dims);
  const uint32_t absolute = writer.output(XNNDatatype::xnn_datatype_fp32, dims);
  const uint32_t negated = writer.output(XNNDatatype::xnn_datatype_fp32, dims);
  writer.plain_node(XNodeUnion::XNNAbs, in, absolute);
  writer.plain_node(XNodeUnion::XNNNegate, absolute, negated);  // reads an argument that is a result, too
  const auto payload = writer.finish();
  Delegate delegate(std::make_shared<WorkspaceGroup>());
  ASSERT_EQ(delegate.load(payload.data(), payload.size(), nullptr, nullptr), Error::Ok);

  const AtPageEnd memory[] = {AtPageEnd(kCount), AtPageEnd(kCount), AtPageEnd(kCount)};
  std::vector<extension::TensorPtr> tensors;
  std::vector<runtime::EValue> values;
  for (const AtPageEnd& one : memory) {
    tensors.push_back(extension::from_blob(one.data, {kCount}));
    values.emplace_back(*tensors.back());
  }
  std::vector<runtime::EValue*> arguments = {&values[0], &values[1], &values[2]};
  for (size_t i = 0; i < kCount; ++i) {
    memory[0].data[i] = static_cast<float>(i) - 3.0f;
  }
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(delegate.execute({arguments.data(), arguments.size()}), Error::Ok);
    for (size_t i = 0; i < kCount; ++i) {
      const float expected = i < 3 ? 3.0f - static_cast<float>(i) : static_cast<float>(i) - 3.0f;
      EXPECT_EQ(memory[1].data[i], expected);
      EXPECT_EQ(memory[2].data[i], -expected);
    }
  }
}
#endif

}  // namespace
}  // namespace xnnpack
}  // namespace backends
}  // namespace executorch
