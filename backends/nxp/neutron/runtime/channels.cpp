// SPDX-License-Identifier: BSD-3-Clause
#include "channels.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/platform/log.h>

#include "NeutronBackend.h"

namespace executorch {
namespace backends {
namespace neutron {

using aten::Tensor;
using runtime::Error;

namespace {

/// A tensor as images: their number, the channels and the pixels of each.
struct Images {
  size_t count;
  size_t channels;
  size_t pixels;
  size_t element_size;
};

Images images_of(const Tensor& tensor) {
  const auto sizes = tensor.sizes();
  const size_t rank = sizes.size();
  Images images = {1, static_cast<size_t>(sizes[rank - 3]), static_cast<size_t>(sizes[rank - 2]) * sizes[rank - 1],
                   static_cast<size_t>(tensor.element_size())};
  for (size_t i = 0; i + 3 < rank; ++i) {
    images.count *= static_cast<size_t>(sizes[i]);
  }
  return images;
}

/// Transposes each image from rows to columns.
void transpose(const uint8_t* from, uint8_t* to, size_t count, size_t rows, size_t columns, size_t element_size) {
  for (size_t image = 0; image < count; ++image) {
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        std::memcpy(to + (column * rows + row) * element_size, from + (row * columns + column) * element_size,
                    element_size);
      }
    }
    from += rows * columns * element_size;
    to += rows * columns * element_size;
  }
}

bool has_channels_last(const Tensor& tensor) {
  const auto order = tensor.dim_order();
  return runtime::is_channels_last_dim_order(order.data(), order.size());
}

}  // namespace

Error place_of(const char* kind, size_t index, const Tensor& tensor, bool is_last, Place& place) {
  place = Place::Tensor;
  const auto order = tensor.dim_order();
  const bool is_contiguous = runtime::is_contiguous_dim_order(order.data(), order.size());
  if (!is_last) {
    ET_CHECK_OR_RETURN_ERROR(is_contiguous, InvalidArgument,
                             "%s: %s %zu of a delegate must be contiguous, it has another dim order",
                             neutron_backend_key, kind, index);
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(tensor.dim() >= 3, InvalidArgument,
                           "%s: %s %zu of a delegate has %zu dimensions, its network has channels last and expects at "
                           "least 3",
                           neutron_backend_key, kind, index, static_cast<size_t>(tensor.dim()));
  const bool has_order = has_channels_last(tensor);
  ET_CHECK_OR_RETURN_ERROR(
      is_contiguous || has_order, InvalidArgument,
      "%s: %s %zu of a delegate must be contiguous or have channels last, it has another dim order",
      neutron_backend_key, kind, index);
  const Images images = images_of(tensor);
  place = has_order || images.channels == 1 || images.pixels == 1 ? Place::Tensor : Place::Copy;
  return Error::Ok;
}

void to_channels_last(const Tensor& tensor, void* copy) {
  const Images images = images_of(tensor);
  transpose(static_cast<const uint8_t*>(tensor.const_data_ptr()), static_cast<uint8_t*>(copy), images.count,
            images.channels, images.pixels, images.element_size);
}

void from_channels_last(const void* copy, const Tensor& tensor) {
  const Images images = images_of(tensor);
  transpose(static_cast<const uint8_t*>(copy), static_cast<uint8_t*>(tensor.mutable_data_ptr()), images.count,
            images.pixels, images.channels, images.element_size);
}

}  // namespace neutron
}  // namespace backends
}  // namespace executorch
