// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * GoogleTest matchers of tensors. Two tensors are equal when dtype, sizes, dim order and every element are; they are
 * close when |a - b| <= atol + rtol * |b| for every element instead. NaN is close to NaN, an infinity to itself.
 *
 * `DATA` variants compare dtype and elements in the order of memory, and ignore the sizes. `CLOSE` variants have
 * default tolerances; `_WITH_TOL` takes others.
 */
#pragma once

#include <optional>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace runtime {
namespace testing {
namespace internal {

constexpr double kDefaultRtol = 1e-5;
constexpr double kDefaultAtol = 1e-8;
// Half has an epsilon of about 1e-3, BFloat16 of about 8e-3.
constexpr double kDefaultHalfAtol = 1e-3;
constexpr double kDefaultBFloat16Atol = 1e-2;

}  // namespace internal

/// The default atol depends on the dtype.
bool tensors_are_close(const aten::Tensor& a, const aten::Tensor& b, double rtol = internal::kDefaultRtol,
                       std::optional<double> opt_atol = std::nullopt);

bool tensor_data_is_close(const aten::Tensor& a, const aten::Tensor& b, double rtol = internal::kDefaultRtol,
                          std::optional<double> opt_atol = std::nullopt);

/// Same number of tensors, each close to its partner.
bool tensor_lists_are_close(const aten::Tensor* tensors_a, size_t num_tensors_a, const aten::Tensor* tensors_b,
                            size_t num_tensors_b, double rtol = internal::kDefaultRtol,
                            std::optional<double> opt_atol = std::nullopt);

MATCHER_P(IsCloseTo, other, "") {
  return tensors_are_close(arg, other);
}
MATCHER_P3(IsCloseToWithTol, other, rtol, atol, "") {
  return tensors_are_close(arg, other, rtol, atol);
}
MATCHER_P(IsEqualTo, other, "") {
  return tensors_are_close(arg, other, /*rtol=*/0, /*opt_atol=*/0);
}
MATCHER_P(IsDataCloseTo, other, "") {
  return tensor_data_is_close(arg, other);
}
MATCHER_P3(IsDataCloseToWithTol, other, rtol, atol, "") {
  return tensor_data_is_close(arg, other, rtol, atol);
}
MATCHER_P(IsDataEqualTo, other, "") {
  return tensor_data_is_close(arg, other, /*rtol=*/0, /*opt_atol=*/0);
}
MATCHER_P(IsListCloseTo, other, "") {
  return tensor_lists_are_close(arg.data(), arg.size(), other.data(), other.size());
}
MATCHER_P(IsListEqualTo, other, "") {
  return tensor_lists_are_close(arg.data(), arg.size(), other.data(), other.size(), /*rtol=*/0, /*opt_atol=*/0);
}

}  // namespace testing

namespace etensor {
/// Prints the name of a dtype.
std::ostream& operator<<(std::ostream& os, const ScalarType& t);
/// Prints dtype, sizes and elements in a failure message.
std::ostream& operator<<(std::ostream& os, const Tensor& t);
}  // namespace etensor
}  // namespace runtime
}  // namespace executorch

#define EXPECT_TENSOR_EQ(t1, t2) EXPECT_THAT((t1), ::executorch::runtime::testing::IsEqualTo(t2))
#define EXPECT_TENSOR_NE(t1, t2) EXPECT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsEqualTo(t2)))
#define ASSERT_TENSOR_EQ(t1, t2) ASSERT_THAT((t1), ::executorch::runtime::testing::IsEqualTo(t2))
#define ASSERT_TENSOR_NE(t1, t2) ASSERT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsEqualTo(t2)))

#define EXPECT_TENSOR_CLOSE(t1, t2) EXPECT_THAT((t1), ::executorch::runtime::testing::IsCloseTo(t2))
#define EXPECT_TENSOR_NOT_CLOSE(t1, t2) EXPECT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsCloseTo(t2)))
#define ASSERT_TENSOR_CLOSE(t1, t2) ASSERT_THAT((t1), ::executorch::runtime::testing::IsCloseTo(t2))
#define ASSERT_TENSOR_NOT_CLOSE(t1, t2) ASSERT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsCloseTo(t2)))

#define EXPECT_TENSOR_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  EXPECT_THAT((t1), ::executorch::runtime::testing::IsCloseToWithTol(t2, rtol, atol))
#define EXPECT_TENSOR_NOT_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  EXPECT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsCloseToWithTol(t2, rtol, atol)))
#define ASSERT_TENSOR_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ASSERT_THAT((t1), ::executorch::runtime::testing::IsCloseToWithTol(t2, rtol, atol))
#define ASSERT_TENSOR_NOT_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ASSERT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsCloseToWithTol(t2, rtol, atol)))

#define EXPECT_TENSOR_DATA_EQ(t1, t2) EXPECT_THAT((t1), ::executorch::runtime::testing::IsDataEqualTo(t2))
#define EXPECT_TENSOR_DATA_NE(t1, t2) \
  EXPECT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsDataEqualTo(t2)))
#define ASSERT_TENSOR_DATA_EQ(t1, t2) ASSERT_THAT((t1), ::executorch::runtime::testing::IsDataEqualTo(t2))
#define ASSERT_TENSOR_DATA_NE(t1, t2) \
  ASSERT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsDataEqualTo(t2)))

#define EXPECT_TENSOR_DATA_CLOSE(t1, t2) EXPECT_THAT((t1), ::executorch::runtime::testing::IsDataCloseTo(t2))
#define EXPECT_TENSOR_DATA_NOT_CLOSE(t1, t2) \
  EXPECT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsDataCloseTo(t2)))
#define ASSERT_TENSOR_DATA_CLOSE(t1, t2) ASSERT_THAT((t1), ::executorch::runtime::testing::IsDataCloseTo(t2))
#define ASSERT_TENSOR_DATA_NOT_CLOSE(t1, t2) \
  ASSERT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsDataCloseTo(t2)))

#define EXPECT_TENSOR_DATA_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  EXPECT_THAT((t1), ::executorch::runtime::testing::IsDataCloseToWithTol(t2, rtol, atol))
#define EXPECT_TENSOR_DATA_NOT_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  EXPECT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsDataCloseToWithTol(t2, rtol, atol)))
#define ASSERT_TENSOR_DATA_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ASSERT_THAT((t1), ::executorch::runtime::testing::IsDataCloseToWithTol(t2, rtol, atol))
#define ASSERT_TENSOR_DATA_NOT_CLOSE_WITH_TOL(t1, t2, rtol, atol) \
  ASSERT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsDataCloseToWithTol(t2, rtol, atol)))

#define EXPECT_TENSOR_LISTS_EQ(t1, t2) EXPECT_THAT((t1), ::executorch::runtime::testing::IsListEqualTo(t2))
#define EXPECT_TENSOR_LISTS_NE(t1, t2) \
  EXPECT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsListEqualTo(t2)))
#define ASSERT_TENSOR_LISTS_EQ(t1, t2) ASSERT_THAT((t1), ::executorch::runtime::testing::IsListEqualTo(t2))
#define ASSERT_TENSOR_LISTS_NE(t1, t2) \
  ASSERT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsListEqualTo(t2)))

#define EXPECT_TENSOR_LISTS_CLOSE(t1, t2) EXPECT_THAT((t1), ::executorch::runtime::testing::IsListCloseTo(t2))
#define EXPECT_TENSOR_LISTS_NOT_CLOSE(t1, t2) \
  EXPECT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsListCloseTo(t2)))
#define ASSERT_TENSOR_LISTS_CLOSE(t1, t2) ASSERT_THAT((t1), ::executorch::runtime::testing::IsListCloseTo(t2))
#define ASSERT_TENSOR_LISTS_NOT_CLOSE(t1, t2) \
  ASSERT_THAT((t1), ::testing::Not(::executorch::runtime::testing::IsListCloseTo(t2)))

namespace torch {
namespace executor {
namespace testing {
using ::executorch::runtime::testing::IsCloseTo;
using ::executorch::runtime::testing::IsCloseToWithTol;
using ::executorch::runtime::testing::IsDataCloseTo;
using ::executorch::runtime::testing::IsDataCloseToWithTol;
using ::executorch::runtime::testing::IsDataEqualTo;
using ::executorch::runtime::testing::IsEqualTo;
using ::executorch::runtime::testing::IsListCloseTo;
using ::executorch::runtime::testing::IsListEqualTo;
using ::executorch::runtime::testing::tensor_data_is_close;
using ::executorch::runtime::testing::tensor_lists_are_close;
using ::executorch::runtime::testing::tensors_are_close;
}  // namespace testing
}  // namespace executor
}  // namespace torch
