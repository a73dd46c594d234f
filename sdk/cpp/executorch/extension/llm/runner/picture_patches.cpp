// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/llm/runner/picture_patches.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace llm {
namespace internal {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using runtime::Error;
using runtime::Result;

namespace {

template <typename T>
TensorPtr cut(const std::vector<T>& pixels, const Image& image, int32_t side, int32_t merge, ScalarType type) {
  const auto width = static_cast<size_t>(image.width());
  const size_t plane = width * static_cast<size_t>(image.height());
  std::vector<T> made(pixels.size());
  T* to = made.data();
  const auto copy_patch = [&](int32_t row, int32_t column) {
    const T* corner = pixels.data() + static_cast<size_t>(row) * static_cast<size_t>(side) * width +
                      static_cast<size_t>(column) * static_cast<size_t>(side);
    for (int32_t channel = 0; channel < image.channels(); channel++, corner += plane) {
      for (int32_t y = 0; y < side; y++) {
        to = std::copy_n(corner + static_cast<size_t>(y) * width, side, to);
      }
    }
  };
  for (int32_t row = 0; row < image.height() / side; row += merge) {
    for (int32_t column = 0; column < image.width() / side; column += merge) {
      for (int32_t i = 0; i < merge * merge; i++) {
        copy_patch(row + i / merge, column + i % merge);
      }
    }
  }
  const auto count = static_cast<SizesType>((image.height() / side) * (image.width() / side));
  return make_tensor_ptr({count, image.channels(), side, side}, std::move(made), type);
}

}  // namespace

Result<PicturePatches> patches_of(const Image& image, int32_t side, int32_t merge) {
  const int32_t unit = side * merge;
  ET_CHECK_OR_RETURN_ERROR(
      image.width() > 0 && image.height() > 0 && image.width() % unit == 0 && image.height() % unit == 0,
      InvalidArgument, "the picture has %d x %d pixels; expected sides that are multiples of %d", image.width(),
      image.height(), unit);
  ET_CHECK_OK_OR_RETURN_ERROR(image.toTensor().error());  // its data fills its size
  TensorPtr patches = image.is_uint8() ? cut(image.get_uint8_data(), image, side, merge, ScalarType::Byte)
                                       : cut(image.get_float_data(), image, side, merge, ScalarType::Float);
  return PicturePatches{std::move(patches), image.height() / unit, image.width() / unit};
}

}  // namespace internal
}  // namespace llm
}  // namespace extension
}  // namespace executorch
