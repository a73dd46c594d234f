// SPDX-License-Identifier: BSD-3-Clause
#include <cinttypes>
#include <cstdio>
#include <limits>

#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>

namespace executorch {
namespace runtime {
namespace {

template <typename SizeType>
std::array<char, kTensorShapeStringSizeLimit> to_text(Span<const SizeType> shape) {
  std::array<char, kTensorShapeStringSizeLimit> text{};
  if (shape.size() > kTensorDimensionLimit) {
    snprintf(text.data(), text.size(), "(ERR: rank %" ET_PRIsize_t ")", shape.size());
    return text;
  }
  size_t length = 0;
  text[length++] = '(';
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = shape[i];
    const char* separator = i == 0 ? "" : ", ";
    const bool valid = size >= 0 && size <= std::numeric_limits<int32_t>::max();
    const int written = valid ? snprintf(&text[length], text.size() - length, "%s%" PRId64, separator, size)
                              : snprintf(&text[length], text.size() - length, "%sERR", separator);
    length += written > 0 ? static_cast<size_t>(written) : 0;
  }
  snprintf(&text[length], text.size() - length, shape.size() == 1 ? ",)" : ")");
  return text;
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
