// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of tensors that own their data.
#pragma once

#include <executorch/extension/tensor/tensor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::extension {

class TensorPtrTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { runtime::runtime_init(); }
};

/// Returns the log line of a call that must not return a tensor.
template <typename Make>
std::string refusal(Make&& make) {
  testing::internal::CaptureStderr();
  const TensorPtr tensor = make();
  std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(tensor, nullptr);
  return log;
}

template <typename T>
std::vector<T> values(const TensorPtr& tensor) {
  const T* data = tensor->const_data_ptr<T>();
  return std::vector<T>(data, data + tensor->numel());
}

inline std::vector<int> sizes(const TensorPtr& tensor) {
  return {tensor->sizes().begin(), tensor->sizes().end()};
}
inline std::vector<int> strides(const TensorPtr& tensor) {
  return {tensor->strides().begin(), tensor->strides().end()};
}
inline std::vector<int> dim_order(const TensorPtr& tensor) {
  const auto order = runtime::internal::dim_order_of(*tensor);
  return {order.begin(), order.end()};
}
inline aten::TensorShapeDynamism shape_dynamism(const TensorPtr& tensor) {
  return runtime::internal::shape_dynamism_of(*tensor);
}

}  // namespace executorch::extension
