// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>

#include <limits>

#include <executorch/runtime/core/fixed_text.h>

namespace executorch {
namespace runtime {
namespace {

using internal::FixedText;

template <typename SizeType>
std::array<char, kTensorShapeStringSizeLimit> to_text(Span<const SizeType> shape) {
  std::array<char, kTensorShapeStringSizeLimit> array{};
  FixedText text(array.data(), array.size());
  if (shape.size() > kTensorDimensionLimit) {
    text.append("(ERR: rank ");
    text.append_number(shape.size());
    text.append(")");
    return array;
  }
  text.append("(");
  for (size_t i = 0; i < shape.size(); ++i) {
    text.append(i == 0 ? "" : ", ");
    if (shape[i] >= 0 && shape[i] <= std::numeric_limits<int32_t>::max()) {
      text.append_number(static_cast<size_t>(shape[i]));
    } else {
      text.append("ERR");
    }
  }
  text.append(shape.size() == 1 ? ",)" : ")");
  return array;
}

}  // namespace

std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(Span<const std::int32_t> shape) {
  return to_text(shape);
}

std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(Span<const std::int64_t> shape) {
  return to_text(shape);
}

}  // namespace runtime
}  // namespace executorch
