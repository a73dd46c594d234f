// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

/// The values of an image or of audio features, uint8 or float32, with the sizes of three dimensions.
class MediaData {
 public:
  MediaData() = default;
  template <typename T>
  MediaData(std::vector<T>&& data, int32_t first, int32_t second, int32_t third)
      : data_(std::move(data)), sizes_{first, second, third} {}

  bool is_uint8() const { return std::holds_alternative<std::vector<uint8_t>>(data_); }
  bool is_float() const { return std::holds_alternative<std::vector<float>>(data_); }
  /// Call these only for the dtype of the data.
  const std::vector<uint8_t>& get_uint8_data() const& { return *std::get_if<std::vector<uint8_t>>(&data_); }
  std::vector<uint8_t>& get_uint8_data() & { return *std::get_if<std::vector<uint8_t>>(&data_); }
  const std::vector<float>& get_float_data() const& { return *std::get_if<std::vector<float>>(&data_); }
  std::vector<float>& get_float_data() & { return *std::get_if<std::vector<float>>(&data_); }

 protected:
  int32_t size(size_t index) const { return sizes_[index]; }

  /// A view of the data, which must outlive it. InvalidArgument if the number of elements differs.
  runtime::Result<TensorPtr> view(std::vector<executorch::aten::SizesType> sizes) const {
    bool is_valid = true;
    int64_t count = 1;
    for (const auto size : sizes) {
      is_valid = is_valid && size > 0 && !__builtin_mul_overflow(count, int64_t{size}, &count);
    }
    const auto found = static_cast<int64_t>(is_float() ? get_float_data().size() : get_uint8_data().size());
    ET_CHECK_OR_RETURN_ERROR(is_valid && count == found, InvalidArgument,
                             "%lld values do not fill sizes of %d x %d x %d", static_cast<long long>(found),
                             static_cast<int>(sizes_[0]), static_cast<int>(sizes_[1]), static_cast<int>(sizes_[2]));
    if (is_float()) {
      return from_blob(const_cast<float*>(get_float_data().data()), std::move(sizes));
    }
    return from_blob(const_cast<uint8_t*>(get_uint8_data().data()), std::move(sizes),
                     executorch::aten::ScalarType::Byte);
  }

 private:
  std::variant<std::vector<uint8_t>, std::vector<float>> data_;
  int32_t sizes_[3] = {0, 0, 0};
};

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
