// SPDX-License-Identifier: BSD-3-Clause
// The documented table of functions and their PyTorch counterparts. Each call has the arguments of the table in its
// order; the expected values are those of the ATen function in the same row.
#include <executorch/extension/tensor/tensor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

#include <executorch/runtime/platform/runtime.h>

using namespace executorch::extension;  // NOLINT: as the documents' samples do
using executorch::aten::ScalarType;
using executorch::runtime::Error;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Lt;

namespace {

class TensorParityTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { executorch::runtime::runtime_init(); }
};

/// Sizes, then strides.
std::vector<int> layout(const TensorPtr& tensor) {
  std::vector<int> numbers(tensor->sizes().begin(), tensor->sizes().end());
  numbers.insert(numbers.end(), tensor->strides().begin(), tensor->strides().end());
  return numbers;
}

std::vector<float> elements(const TensorPtr& tensor) {
  const auto converted = clone_tensor_ptr(tensor, ScalarType::Float);
  const float* data = converted->const_data_ptr<float>();
  return {data, data + converted->numel()};
}

}  // namespace

// PCPP-10: this file is compiled in both modes. The number of dimensions is ssize_t in ETensor mode, as wide as a
// pointer, and int64_t in ATen mode; a cast to ssize_t makes one format of log messages right in both.
TEST_F(TensorParityTest, DimIsASignedCountInBothModes) {
#ifdef USE_ATEN_LIB
  using Count = int64_t;
#else
  using Count = ssize_t;
#endif
  const auto tensor = zeros({2, 3});
  static_assert(std::is_same_v<decltype(tensor->dim()), Count>);
  static_assert(sizeof(ssize_t) == sizeof(void*));
  char text[8];
  std::snprintf(text, sizeof(text), "%zd", static_cast<ssize_t>(tensor->dim()));
  EXPECT_STREQ(text, "2");
}

// TEN-32
TEST_F(TensorParityTest, FromData) {
  const std::vector<int> data = {1, 2, 3, 4, 5, 6};
  const auto vector = make_tensor_ptr(data, ScalarType::Float);
  EXPECT_THAT(layout(vector), ElementsAre(6, 1));
  EXPECT_THAT(elements(vector), ElementsAre(1, 2, 3, 4, 5, 6));
  auto matrix = make_tensor_ptr({2, 3}, data, ScalarType::Double);
  EXPECT_EQ(matrix->scalar_type(), ScalarType::Double);
  EXPECT_THAT(layout(matrix), ElementsAre(2, 3, 3, 1));
  const auto clone = clone_tensor_ptr(matrix);
  EXPECT_NE(clone->const_data_ptr(), matrix->const_data_ptr());
  EXPECT_THAT(elements(clone), ElementsAre(1, 2, 3, 4, 5, 6));
  ASSERT_EQ(resize_tensor_ptr(matrix, {3, 2}), Error::Ok);
  EXPECT_THAT(layout(matrix), ElementsAre(3, 2, 2, 1));
  EXPECT_THAT(elements(scalar_tensor(7)), ElementsAre(7));
  float floats[] = {1, 2, 3};
  EXPECT_EQ(from_blob(floats, {3}, ScalarType::Float)->const_data_ptr(), floats);
}

// TEN-32
TEST_F(TensorParityTest, Filled) {
  const std::vector<int> transposed = {2, 3, 1, 2};
  const auto tensor = empty_strided({2, 3}, {1, 2});
  EXPECT_EQ(layout(tensor), transposed);
  EXPECT_THAT(layout(empty({2, 3})), ElementsAre(2, 3, 3, 1));
  EXPECT_EQ(layout(empty_like(tensor)), transposed);
  EXPECT_THAT(elements(full({2, 3}, 5)), Each(5));
  EXPECT_THAT(elements(full_like(tensor, 5)), Each(5));
  EXPECT_EQ(layout(full_like(tensor, 5)), transposed);
  EXPECT_THAT(elements(full_strided({2, 3}, {1, 2}, 5)), Each(5));
  EXPECT_EQ(layout(full_strided({2, 3}, {1, 2}, 5)), transposed);
  EXPECT_THAT(elements(zeros({2, 3})), Each(0));
  EXPECT_THAT(elements(zeros_like(tensor)), Each(0));
  EXPECT_EQ(layout(zeros_strided({2, 3}, {1, 2})), transposed);
  EXPECT_THAT(elements(ones({2, 3})), Each(1));
  EXPECT_THAT(elements(ones_like(tensor)), Each(1));
  EXPECT_EQ(layout(ones_strided({2, 3}, {1, 2})), transposed);
}

// TEN-32
TEST_F(TensorParityTest, Random) {
  const auto tensor = empty({2, 3});
  EXPECT_THAT(elements(rand({2, 3})), Each(AllOf(Ge(0), Lt(1))));
  EXPECT_THAT(elements(rand_like(tensor)), Each(AllOf(Ge(0), Lt(1))));
  EXPECT_NE(elements(randn({2, 3})), elements(randn_like(tensor)));
  EXPECT_EQ(randint(0, 10, {2, 3})->scalar_type(), ScalarType::Int);
  EXPECT_THAT(elements(randint(0, 10, {2, 3})), Each(AllOf(Ge(0), Lt(10))));
  EXPECT_THAT(elements(randint_like(tensor, 5, 6)), Each(5));
}
