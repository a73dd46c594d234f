// SPDX-License-Identifier: BSD-3-Clause
// Selects one value by its rank in sorted order: kthvalue.values, median.out, median.dim_values, nanmedian.out,
// nanmedian.dim_values. Equal values keep their order; NaN is larger than any number.
#include <limits>
#include <tuple>

#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {
namespace {

enum class Choice : uint8_t { Kth, Median, MedianOfNumbers };

template <typename T>
class Ordered {
 public:
  Ordered(const T* values, int64_t stride, int64_t count) : values_(values), stride_(stride), count_(count) {}

  // The position of the element that has k others before it in sorted order. Pivots are drawn at random from the
  // elements that are still candidates, so about log(count) passes are needed, and no memory.
  int64_t select(int64_t k) const {
    int64_t low = -1, high = count_;  // the answer is strictly between these elements; -1 and count_ mean no bound
    uint32_t state = 1;
    for (;;) {
      int64_t pivot = -1;
      uint32_t seen = 0;
      for (int64_t i = 0; i < count_; ++i) {
        if ((low < 0 || precedes(low, i)) && (high == count_ || precedes(i, high))) {
          state = state * 1664525u + 1013904223u;
          pivot = (state >> 8) % ++seen == 0 ? i : pivot;
        }
      }
      int64_t before = 0;
      for (int64_t i = 0; i < count_; ++i) {
        before += precedes(i, pivot) ? 1 : 0;
      }
      if (before == k) {
        return pivot;
      }
      (before < k ? low : high) = pivot;
    }
  }

  // The index of the first NaN, or -1.
  int64_t first_nan() const {
    for (int64_t i = 0; i < count_; ++i) {
      if (is_nan(i)) {
        return i;
      }
    }
    return -1;
  }

  int64_t numbers() const {
    int64_t result = 0;
    for (int64_t i = 0; i < count_; ++i) {
      result += is_nan(i) ? 0 : 1;
    }
    return result;
  }

  int64_t choose(Choice choice, int64_t k) const {
    if (choice == Choice::Kth) {
      return select(k - 1);
    }
    const int64_t nan = first_nan();
    if (nan < 0) {
      return select((count_ - 1) / 2);
    }
    const int64_t valid = choice == Choice::Median ? 0 : numbers();
    return valid == 0 ? nan : select((valid - 1) / 2);
  }

 private:
  T value(int64_t i) const { return values_[i * stride_]; }
  bool is_nan(int64_t i) const { return value(i) != value(i); }

  bool precedes(int64_t a, int64_t b) const {
    const T x = value(a), y = value(b);
    const bool below = x < y || (is_nan(b) && !is_nan(a));
    const bool above = y < x || (is_nan(a) && !is_nan(b));
    return below || (!above && a < b);
  }

  const T* values_;
  int64_t stride_;
  int64_t count_;
};

void along_dim(KernelRuntimeContext& ctx, const char* op, const Tensor& in, Choice choice, int64_t k, int64_t dim,
               bool keepdim, Tensor& values, Tensor& indices) {
  size_t d = 0;
  ET_KERNEL_CHECK_MSG(ctx, indices.scalar_type() == ScalarType::Long, InvalidArgument, ,
                      "%s: the indices are int64; the output is %s", op, toString(indices.scalar_type()));
  if (!check_same_dtype(ctx, op, in, values) || !check_dim(ctx, op, dim, in.dim(), &d)) {
    return;
  }
  const StridedView source = at_least_1d(in);
  const int64_t length = source.sizes[d];
  ET_KERNEL_CHECK_MSG(ctx, choice != Choice::Kth || (k >= 1 && k <= length), InvalidArgument, ,
                      "%s: k is %lld; expected 1 to %lld, the size of dimension %zu", op, static_cast<long long>(k),
                      static_cast<long long>(length), d);
  StridedView shape = source;
  shape.sizes[d] = 1;
  const bool keeps = keepdim && in.dim() > 0;
  if (!keeps) {
    shape.erase(d);
  }
  if (!check_resize(ctx, op, values, shape.sizes, shape.dims) ||
      !check_resize(ctx, op, indices, shape.sizes, shape.dims)) {
    return;
  }
  ET_KERNEL_CHECK_MSG(ctx, length > 0 || values.numel() == 0, InvalidArgument, ,
                      "%s: dimension %zu is empty; there is nothing to choose from", op, d);
  StridedView views[] = {source, StridedView::of(values), StridedView::of(indices)};
  if (!keeps) {
    views[1].insert(d, 1, 0);
    views[2].insert(d, 1, 0);
  }
  visit_real(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for_each_line(views, d, [&](const int64_t* offsets) {
      const T* line = in.const_data_ptr<T>() + offsets[0];
      const int64_t chosen = Ordered<T>(line, source.strides[d], length).choose(choice, k);
      values.mutable_data_ptr<T>()[offsets[1]] = line[chosen * source.strides[d]];
      indices.mutable_data_ptr<int64_t>()[offsets[2]] = chosen;
    });
  });
}

// The median of all elements; NaN (the lowest integer) for an empty tensor.
Tensor& of_all(KernelRuntimeContext& ctx, const char* op, const Tensor& in, Choice choice, Tensor& out) {
  if (!check_same_dtype(ctx, op, in, out) || !check_resize(ctx, op, out, nullptr, 0)) {
    return out;
  }
  visit_real(ctx, op, in.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* result = out.mutable_data_ptr<T>();
    if (in.numel() > 0) {
      const T* values = in.const_data_ptr<T>();
      *result = values[Ordered<T>(values, 1, in.numel()).choose(choice, 0)];
    } else if constexpr (std::is_integral_v<T>) {
      *result = std::numeric_limits<T>::lowest();
    } else {
      *result = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    }
  });
  return out;
}

}  // namespace

std::tuple<Tensor&, Tensor&> kthvalue_values(KernelRuntimeContext& ctx, const Tensor& in, int64_t k, int64_t dim,
                                             bool keepdim, Tensor& values, Tensor& indices) {
  along_dim(ctx, "kthvalue.values", in, Choice::Kth, k, dim, keepdim, values, indices);
  return {values, indices};
}

std::tuple<Tensor&, Tensor&> median_dim_values(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool keepdim,
                                               Tensor& values, Tensor& indices) {
  along_dim(ctx, "median.dim_values", in, Choice::Median, 0, dim, keepdim, values, indices);
  return {values, indices};
}

std::tuple<Tensor&, Tensor&> nanmedian_dim_values(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim,
                                                  bool keepdim, Tensor& values, Tensor& indices) {
  along_dim(ctx, "nanmedian.dim_values", in, Choice::MedianOfNumbers, 0, dim, keepdim, values, indices);
  return {values, indices};
}

Tensor& median_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return of_all(ctx, "median.out", in, Choice::Median, out);
}

Tensor& nanmedian_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return of_all(ctx, "nanmedian.out", in, Choice::MedianOfNumbers, out);
}

}  // namespace torch::executor::native
