// SPDX-License-Identifier: BSD-3-Clause
// _embedding_bag.out and embedding_dense_backward.out
#include <cinttypes>
#include <optional>
#include <tuple>
#include <type_traits>

#include "kernels/portable/cpu/math/accumulate_type.h"
#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

using Outputs = std::tuple<Tensor&, Tensor&, Tensor&, Tensor&>;

enum Mode : int64_t { kSum, kMean, kMax };

void put_index(Tensor& tensor, int64_t i, int64_t value) {
  if (tensor.scalar_type() == ScalarType::Long) {
    tensor.mutable_data_ptr<int64_t>()[i] = value;
  } else {
    tensor.mutable_data_ptr<int32_t>()[i] = static_cast<int32_t>(value);
  }
}

bool check_index(KernelRuntimeContext& ctx, const char* op, const Tensor& indices, int64_t rows) {
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const int64_t row = index_at(indices, i);
    ET_KERNEL_CHECK_MSG(ctx, row >= 0 && row < rows, InvalidArgument, false,
                        "%s: index %" PRId64 " at position %" PRId64 " is outside the table of %" PRId64 " rows", op,
                        row, i, rows);
  }
  return true;
}

// offsets[b] is where bag b begins in the indices.
bool check_offsets(KernelRuntimeContext& ctx, const char* op, const Tensor& offsets, int64_t count) {
  int64_t last = 0;
  for (int64_t i = 0; i < offsets.numel(); ++i) {
    const int64_t offset = index_at(offsets, i);
    ET_KERNEL_CHECK_MSG(ctx, offset >= last && offset <= count && (i > 0 || offset == 0), InvalidArgument, false,
                        "%s: the offsets must begin with 0, not decrease and be at most %" PRId64
                        ", the number of indices; offset %" PRId64 " is %" PRId64,
                        op, count, i, offset);
    last = offset;
  }
  return true;
}

bool check_apart(KernelRuntimeContext& ctx, const char* op, const Tensor& read, const Outputs& outputs) {
  return std::apply([&](const auto&... output) { return (check_no_overlap(ctx, op, read, output) && ...); }, outputs);
}

// A complex number of parts of type T.
template <typename T>
struct Pair {
  T re, im;
};

template <typename T>
Pair<T> add_share(Pair<T> sum, Pair<T> value, int64_t times) {
  return {static_cast<T>(sum.re + value.re / static_cast<T>(times)),
          static_cast<T>(sum.im + value.im / static_cast<T>(times))};
}

// sum + value / times. For integers, 1 / times is an integer division: 0 for an index that occurs more than once.
template <typename T>
T add_share(T sum, T value, int64_t times) {
  using Sum = AccumulateType<T>;
  if constexpr (std::is_integral<T>::value) {
    return times == 1 ? static_cast<T>(static_cast<Sum>(sum) + static_cast<Sum>(value)) : sum;
  } else {
    return static_cast<T>(static_cast<Sum>(sum) + static_cast<Sum>(value) / static_cast<Sum>(times));
  }
}

}  // namespace

/// out (bags, width): the sum, mean or maximum (mode 0, 1, 2) of the rows of `weight` in each bag; the indices that are
/// padding_idx do not count. offset2bag is the bag of each index (empty where PyTorch has a faster way for sums),
/// bag_size the number of rows of each (0 for mode 0), max_indices the row of each maximum (for mode 2; else it has the
/// size of bag_size).
Outputs _embedding_bag_out(KernelRuntimeContext& ctx, const Tensor& weight, const Tensor& indices,
                           const Tensor& offsets, bool scale_grad_by_freq, int64_t mode, bool sparse,
                           const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
                           int64_t padding_idx, Tensor& out, Tensor& offset2bag, Tensor& bag_size,
                           Tensor& max_indices) {
  (void)scale_grad_by_freq;
  (void)sparse;
  const char* op = "_embedding_bag.out";
  const Outputs outputs(out, offset2bag, bag_size, max_indices);
  ET_KERNEL_CHECK_MSG(ctx, weight.dim() == 2 && indices.dim() == 1 && offsets.dim() == 1, InvalidArgument, outputs,
                      "%s: expected a table of two dimensions, indices and offsets of one", op);
  ET_KERNEL_CHECK_MSG(ctx, mode >= kSum && mode <= kMax, InvalidArgument, outputs,
                      "%s: the mode is %" PRId64 "; expected 0 (sum), 1 (mean) or 2 (max)", op, mode);
  ET_KERNEL_CHECK_MSG(ctx, !include_last_offset || offsets.numel() > 0, InvalidArgument, outputs,
                      "%s: with include_last_offset there is at least one offset", op);
  ET_KERNEL_CHECK_MSG(ctx, !per_sample_weights || (mode == kSum && per_sample_weights->numel() == indices.numel()),
                      InvalidArgument, outputs, "%s: per_sample_weights needs mode 0 (sum) and a weight for each index",
                      op);
  const int64_t count = indices.numel(), rows = weight.size(0), width = weight.size(1);
  const int64_t bags = offsets.numel() - (include_last_offset ? 1 : 0);
  const ScalarType dtype = weight.scalar_type();
  const bool skips_bags = mode == kSum && padding_idx < 0 &&
                          (dtype == ScalarType::Float || dtype == ScalarType::Half || dtype == ScalarType::BFloat16);
  const int64_t out_sizes[2] = {bags, width}, bag_count = skips_bags ? 0 : count;
  if (!check_same_dtype(ctx, op, weight, out) ||
      (per_sample_weights && !check_same_dtype(ctx, op, weight, *per_sample_weights)) ||
      !check_index_dtype(ctx, op, indices) || !check_index_dtype(ctx, op, offsets) ||
      !check_index_dtype(ctx, op, offset2bag) || !check_index_dtype(ctx, op, bag_size) ||
      !check_index_dtype(ctx, op, max_indices) || !check_resize(ctx, op, out, out_sizes, 2) ||
      !check_resize(ctx, op, offset2bag, &bag_count, 1) || !check_resize(ctx, op, bag_size, &bags, 1) ||
      !check_resize(ctx, op, max_indices, out_sizes, mode == kMax ? 2 : 1) || !check_apart(ctx, op, indices, outputs) ||
      !check_apart(ctx, op, offsets, outputs) || !check_index(ctx, op, indices, rows) ||
      !check_offsets(ctx, op, offsets, count)) {
    return outputs;
  }
  padding_idx = padding_idx < 0 ? -1 : padding_idx;
  const int64_t row_stride = weight.strides()[0], column_stride = weight.strides()[1];
  const int64_t bag_stride = out.strides()[0], out_stride = out.strides()[1];
  visit_floating(ctx, op, dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using Sum = AccumulateType<T>;
    const T* table = weight.const_data_ptr<T>();
    const T* scales = per_sample_weights ? per_sample_weights->const_data_ptr<T>() : nullptr;
    for (int64_t bag = 0; bag < bags; ++bag) {
      const int64_t begin = index_at(offsets, bag);
      const int64_t end = bag + 1 < offsets.numel() ? index_at(offsets, bag + 1) : count;
      int64_t size = 0;
      for (int64_t i = begin; i < end; ++i) {
        size += index_at(indices, i) == padding_idx ? 0 : 1;
        if (!skips_bags) {
          put_index(offset2bag, i, bag);
        }
      }
      put_index(bag_size, bag, mode == kSum ? 0 : size);
      if (mode != kMax) {
        put_index(max_indices, bag, mode == kSum ? 0 : size);
      }
      for (int64_t column = 0; column < width; ++column) {
        Sum total = 0;
        int64_t largest = -1;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = index_at(indices, i);
          if (row == padding_idx) {
            continue;
          }
          const Sum value = static_cast<Sum>(table[row * row_stride + column * column_stride]);
          if (mode != kMax) {
            total += scales == nullptr ? value : value * static_cast<Sum>(scales[i]);
          } else if (largest < 0 || value > total) {
            total = value;
            largest = row;
          }
        }
        total = mode == kMean && size > 0 ? total / static_cast<Sum>(size) : total;
        out.mutable_data_ptr<T>()[bag * bag_stride + column * out_stride] = static_cast<T>(total);
        if (mode == kMax) {
          put_index(max_indices, bag * width + column, largest < 0 ? 0 : largest);
        }
      }
    }
  });
  return outputs;
}

/// out (num_weights, width): each row is the sum of the gradients at the positions of its index in `indices`; with
/// scale_grad_by_freq, divided by their number. The row padding_idx is zero.
Tensor& embedding_dense_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& indices,
                                     int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq, Tensor& out) {
  const char* op = "embedding_dense_backward.out";
  ET_KERNEL_CHECK_MSG(ctx, grad_output.dim() == indices.dim() + 1, InvalidArgument, out,
                      "%s: the gradient must have one dimension more than the indices", op);
  bool fits = num_weights >= 0;
  for (ssize_t d = 0; d < indices.dim(); ++d) {
    fits = fits && grad_output.size(d) == indices.size(d);
  }
  ET_KERNEL_CHECK_MSG(ctx, fits, InvalidArgument, out, "%s: the gradient must have the sizes of the indices first", op);
  ET_KERNEL_CHECK_MSG(ctx,
                      executorch::runtime::tensor_is_default_dim_order(grad_output) &&
                          executorch::runtime::tensor_is_default_dim_order(indices) &&
                          executorch::runtime::tensor_is_default_dim_order(out),
                      InvalidArgument, out, "%s: the tensors must be in the default dim order", op);
  const int64_t width = grad_output.size(grad_output.dim() - 1);
  const int64_t sizes[2] = {num_weights, width};
  if (!check_same_dtype(ctx, op, grad_output, out) || !check_index_dtype(ctx, op, indices) ||
      !check_resize(ctx, op, out, sizes, 2) || !check_no_overlap(ctx, op, indices, out)) {
    return out;
  }
  for (int64_t i = 0; i < indices.numel(); ++i) {
    const int64_t row = index_at(indices, i);
    ET_KERNEL_CHECK_MSG(ctx, row == padding_idx || (row >= 0 && row < num_weights), InvalidArgument, out,
                        "%s: index %" PRId64 " is outside the table of %" PRId64 " rows", op, row, num_weights);
  }
  const bool logical = out.scalar_type() == ScalarType::Bool;
  const auto accumulate = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    fill(StridedView::of(out), Scalar(int64_t(0)));
    for (int64_t i = 0; i < indices.numel(); ++i) {
      const int64_t row = index_at(indices, i);
      if (row == padding_idx) {
        continue;
      }
      int64_t times = 1;
      if (scale_grad_by_freq) {
        times = 0;
        for (int64_t j = 0; j < indices.numel(); ++j) {
          times += index_at(indices, j) == row ? 1 : 0;
        }
      }
      const T* from = static_cast<const T*>(grad_output.const_data_ptr()) + i * width;
      T* to = static_cast<T*>(out.mutable_data_ptr()) + row * width;
      for (int64_t column = 0; column < width; ++column) {
        if constexpr (std::is_same_v<T, uint8_t>) {
          if (logical) {
            to[column] = to[column] != 0 || from[column] != 0;
            continue;
          }
        }
        to[column] = add_share(to[column], from[column], times);
      }
    }
  };
  if (out.scalar_type() == ScalarType::ComplexFloat) {
    visit_selected<Pair<float>, is_selected(ScalarType::ComplexFloat)>(ctx, op, out.scalar_type(), accumulate);
  } else if (out.scalar_type() == ScalarType::ComplexDouble) {
    visit_selected<Pair<double>, is_selected(ScalarType::ComplexDouble)>(ctx, op, out.scalar_type(), accumulate);
  } else if (!logical) {
    visit_real(ctx, op, out.scalar_type(), accumulate);
  } else {
    visit_selected<uint8_t, is_selected(ScalarType::Bool)>(ctx, op, out.scalar_type(), accumulate);
  }
  return out;
}

}  // namespace torch::executor::native
