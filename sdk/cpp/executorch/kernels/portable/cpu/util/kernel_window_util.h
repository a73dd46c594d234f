// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Windows that move over the last dimensions of a tensor, as those of pooling and convolution, for custom kernels; a
 * part of kernel_ops_util.h. A list of one number applies to all dimensions.
 */
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>

#include <executorch/runtime/kernel/kernel_includes.h>

namespace torch {
namespace executor {

/// Entry `i` of a list, the only entry of a list of one, or the default for an empty list.
inline int64_t val_at(::executorch::aten::IntArrayRef array, size_t i, int64_t default_value = 1) {
  return array.size() == 0 ? default_value : array[array.size() == 1 ? 0 : i];
}

/// Whether all numbers are at least `val`. Logs if not.
ET_NODISCARD inline bool int_array_all_ge(::executorch::aten::IntArrayRef array, int64_t val) {
  for (size_t i = 0; i < array.size(); ++i) {
    ET_CHECK_OR_RETURN_FALSE(array[i] >= val, "expected at least %" PRId64 " at index %zu, found %" PRId64, val, i,
                             array[i]);
  }
  return true;
}

namespace internal {

/// Checks that the list has one number for each of `count` dimensions, or one for all, and that each is at least
/// `least`. Logs if not.
ET_NODISCARD inline bool window_list_is_valid(const char* name, ::executorch::aten::IntArrayRef list, int64_t least,
                                              size_t count, bool allow_empty = false) {
  ET_CHECK_OR_RETURN_FALSE(list.size() == 1 || list.size() == count || (allow_empty && list.size() == 0),
                           "%s: expected 1 or %zu numbers, found %zu", name, count, list.size());
  return int_array_all_ge(list, least);
}

}  // namespace internal

ET_NODISCARD inline bool kernel_size_is_valid(::executorch::aten::IntArrayRef kernel_size, size_t kernel_ndim) {
  return internal::window_list_is_valid("kernel_size", kernel_size, 1, kernel_ndim);
}

ET_NODISCARD inline bool stride_is_valid(::executorch::aten::IntArrayRef stride, size_t kernel_ndim, bool allow_empty) {
  return internal::window_list_is_valid("stride", stride, 1, kernel_ndim, allow_empty);
}

/// With `enforce_half_kernel`, the padding may be at most half of the window.
ET_NODISCARD inline bool padding_is_valid(::executorch::aten::IntArrayRef padding,
                                          ::executorch::aten::IntArrayRef kernel_size, size_t kernel_ndim,
                                          bool enforce_half_kernel = false) {
  if (!internal::window_list_is_valid("padding", padding, 0, kernel_ndim)) {
    return false;
  }
  for (size_t i = 0; enforce_half_kernel && i < padding.size(); ++i) {
    ET_CHECK_OR_RETURN_FALSE(padding[i] <= val_at(kernel_size, i) / 2,
                             "padding: expected at most half of the kernel size %" PRId64 ", found %" PRId64,
                             val_at(kernel_size, i), padding[i]);
  }
  return true;
}

ET_NODISCARD inline bool dilation_is_valid(::executorch::aten::IntArrayRef dilation, size_t kernel_ndim) {
  return internal::window_list_is_valid("dilation", dilation, 1, kernel_ndim);
}

/// Checks that the output padding of a transposed convolution is smaller than the stride or the dilation.
ET_NODISCARD inline bool output_padding_is_valid(::executorch::aten::IntArrayRef output_padding,
                                                 ::executorch::aten::IntArrayRef stride,
                                                 ::executorch::aten::IntArrayRef dilation, size_t kernel_ndim) {
  if (!internal::window_list_is_valid("output_padding", output_padding, 0, kernel_ndim)) {
    return false;
  }
  for (size_t i = 0; i < kernel_ndim; ++i) {
    const int64_t limit = std::max(val_at(stride, i), val_at(dilation, i));
    ET_CHECK_OR_RETURN_FALSE(val_at(output_padding, i) < limit,
                             "output_padding: expected less than %" PRId64 ", found %" PRId64, limit,
                             val_at(output_padding, i));
  }
  return true;
}

/// The last `kernel_ndim` sizes are positive, and no other one is negative. Logs if not.
ET_NODISCARD inline bool output_size_is_valid(::executorch::aten::ArrayRef<::executorch::aten::SizesType> output_size,
                                              size_t kernel_ndim) {
  for (size_t i = 0; i < output_size.size(); ++i) {
    const int64_t least = i + kernel_ndim >= output_size.size() ? 1 : 0;
    ET_CHECK_OR_RETURN_FALSE(output_size[i] >= least,
                             "the result would have the size %zd in dimension %zu: the window does not fit",
                             static_cast<ssize_t>(output_size[i]), i);
  }
  return true;
}

/// Writes the sizes of the window's dimensions of the result to `out_sizes`; the other entries stay.
inline void calculate_kernel_output_sizes(
    const Tensor& in, size_t kernel_ndim, ::executorch::aten::IntArrayRef kernel_sizes,
    ::executorch::aten::IntArrayRef stride, ::executorch::aten::IntArrayRef padding,
    ::executorch::aten::IntArrayRef dilation, ::executorch::aten::SizesType* out_sizes, bool ceil_mode = false,
    bool transposed = false, ::executorch::aten::IntArrayRef output_padding = {}) {
  for (size_t i = 0; i < kernel_ndim; ++i) {
    const size_t dim = static_cast<size_t>(in.dim()) - kernel_ndim + i;
    const auto size = static_cast<int64_t>(in.size(static_cast<ssize_t>(dim)));
    const int64_t step = val_at(stride, i, val_at(kernel_sizes, i)), added = val_at(padding, i, 0);
    const int64_t extent = val_at(dilation, i) * (val_at(kernel_sizes, i) - 1) + 1;
    int64_t out = 0;
    if (transposed) {
      out = (size - 1) * step - 2 * added + extent + val_at(output_padding, i, 0);
    } else {
      const int64_t room = size + 2 * added - extent + (ceil_mode ? step - 1 : 0);
      out = room < 0 ? 0 : room / step + 1;  // no window fits
      // The last window begins within the input or the padding before it.
      out -= ceil_mode && (out - 1) * step >= size + added ? 1 : 0;
    }
    out_sizes[dim] = static_cast<::executorch::aten::SizesType>(out);
  }
}

/**
 * Reduces a window at each position of one plane. `reduce_fn(value, index, accumulated, accumulated_index)` gives the
 * new accumulated value and index as a tuple; the first element of a window starts both. `map_fn(count, accumulated)`
 * gives the result; `count` is the number of elements of the window, with `include_pad` also those of the padding.
 * Indices count the elements of a plane.
 *
 * @param indices_ptr Gets the index for each result; may be null.
 */
template <typename CTYPE, typename ReduceOp, typename MapOp>
void kernel_reduction_then_map_2d(const ReduceOp& reduce_fn, const MapOp& map_fn, const bool include_pad,
                                  const CTYPE* const in_ptr,
                                  const ::executorch::aten::ArrayRef<::executorch::aten::SizesType> in_sizes,
                                  const ::executorch::aten::ArrayRef<::executorch::aten::StridesType> in_strides,
                                  const ::executorch::aten::IntArrayRef kernel_size,
                                  const ::executorch::aten::IntArrayRef stride,
                                  const ::executorch::aten::IntArrayRef padding,
                                  const ::executorch::aten::IntArrayRef dilation, CTYPE* const out_ptr,
                                  const ::executorch::aten::ArrayRef<::executorch::aten::SizesType> out_sizes,
                                  const ::executorch::aten::ArrayRef<::executorch::aten::StridesType> out_strides,
                                  int64_t* const indices_ptr, const size_t batch, const size_t out_c) {
  const size_t rank = in_sizes.size();
  const auto plane = [&](auto strides) {
    return static_cast<int64_t>((rank == 4 ? batch * static_cast<size_t>(strides[0]) : 0) +
                                out_c * static_cast<size_t>(strides[rank - 3]));
  };
  int64_t size[2], kernel[2], step[2], added[2], spread[2];
  for (size_t i = 0; i < 2; ++i) {
    size[i] = in_sizes[rank - 2 + i];
    kernel[i] = val_at(kernel_size, i);
    step[i] = val_at(stride, i, kernel[i]);
    added[i] = val_at(padding, i, 0);
    spread[i] = val_at(dilation, i);
  }
  for (int64_t y = 0; y < out_sizes[rank - 2]; ++y) {
    for (int64_t x = 0; x < out_sizes[rank - 1]; ++x) {
      const int64_t start[2] = {y * step[0] - added[0], x * step[1] - added[1]};
      int64_t count = 1;
      for (size_t i = 0; i < 2; ++i) {
        const int64_t end = std::min(start[i] + kernel[i], size[i] + added[i]);
        count *= include_pad ? end - start[i] : std::min(end, size[i]) - std::max<int64_t>(start[i], 0);
      }
      CTYPE accumulated = 0;
      int64_t accumulated_index = 0;
      bool is_first = true;
      for (int64_t ky = 0; ky < kernel[0]; ++ky) {
        const int64_t in_y = start[0] + ky * spread[0];
        for (int64_t kx = 0; kx < kernel[1]; ++kx) {
          const int64_t in_x = start[1] + kx * spread[1];
          if (in_y < 0 || in_y >= size[0] || in_x < 0 || in_x >= size[1]) {
            continue;
          }
          const CTYPE value = in_ptr[plane(in_strides) + in_y * in_strides[rank - 2] + in_x * in_strides[rank - 1]];
          const int64_t index = in_y * size[1] + in_x;
          if (is_first) {
            accumulated = value;
            accumulated_index = index;
            is_first = false;
          } else {
            std::tie(accumulated, accumulated_index) = reduce_fn(value, index, accumulated, accumulated_index);
          }
        }
      }
      const int64_t to = plane(out_strides) + y * out_strides[rank - 2] + x * out_strides[rank - 1];
      // A window that has only padding has no elements to count.
      out_ptr[to] = is_first ? CTYPE(0) : map_fn(count, accumulated);
      if (indices_ptr != nullptr) {
        indices_ptr[to] = accumulated_index;
      }
    }
  }
}

/// Like the function above, for each plane of `in`, which has 3 or 4 dimensions. `out` and `indices` have the shape of
/// the result and the same dim order.
template <typename CTYPE, typename ReduceOp, typename MapOp>
void apply_kernel_2d_reduce_then_map_fn(const ReduceOp& reduce_fn, const MapOp& map_fn, const bool include_pad,
                                        const Tensor& in, const ::executorch::aten::IntArrayRef kernel_size,
                                        const ::executorch::aten::IntArrayRef stride,
                                        const ::executorch::aten::IntArrayRef padding,
                                        const ::executorch::aten::IntArrayRef dilation, Tensor& out,
                                        std::optional<Tensor> indices = {}) {
  int64_t* const positions = indices ? indices->mutable_data_ptr<int64_t>() : nullptr;
  const auto batches = static_cast<size_t>(in.dim() == 4 ? in.size(0) : 1);
  const auto channels = static_cast<size_t>(in.size(in.dim() - 3));
  for (size_t batch = 0; batch < batches; ++batch) {
    for (size_t channel = 0; channel < channels; ++channel) {
      kernel_reduction_then_map_2d<CTYPE>(
          reduce_fn, map_fn, include_pad, in.const_data_ptr<CTYPE>(), in.sizes(), in.strides(), kernel_size, stride,
          padding, dilation, out.mutable_data_ptr<CTYPE>(), out.sizes(), out.strides(), positions, batch, channel);
    }
  }
}

}  // namespace executor
}  // namespace torch
