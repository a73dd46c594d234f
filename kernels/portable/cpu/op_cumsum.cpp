// SPDX-License-Identifier: BSD-3-Clause
// Sums, products and extremes of all elements up to each one along a dimension: cumsum.out, cumprod.out,
// logcumsumexp.out, cummax.out, cummin.out.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/block_reader.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {
namespace {

// `combine(total, value)` in a type at least as wide as that of the output.
template <typename Combine>
Tensor& accumulate(KernelRuntimeContext& ctx, const char* name, const Tensor& in, int64_t dim,
                   const std::optional<ScalarType>& dtype, double first, Tensor& out, const Combine& combine) {
  size_t d = 0;
  ET_KERNEL_CHECK_MSG(ctx, is_number(in.scalar_type()) && is_number(out.scalar_type()), InvalidArgument, out,
                      "%s: %s to %s is not supported", name, toString(in.scalar_type()), toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, !dtype.has_value() || *dtype == out.scalar_type(), InvalidArgument, out,
                      "%s: the output must have the given dtype %s, found %s", name, toString(*dtype),
                      toString(out.scalar_type()));
  if (!check_dim(ctx, name, dim, in.dim(), &d) || !check_resize_like(ctx, name, out, in) || out.numel() == 0) {
    return out;
  }
  if (is_complex(in.scalar_type()) || is_complex(out.scalar_type())) {
    const StridedView views[] = {at_least_1d(in), at_least_1d(out)};
    for_each_line(views, d, [&](const int64_t* offsets) {
      Complex total = first;
      for (int64_t i = 0; i < views[0].sizes[d]; ++i) {
        const Complex value = read_complex(views[0].data, views[0].dtype, offsets[0] + i * views[0].strides[d]);
        // The value is first converted to the dtype of the output.
        total = combine(total, is_complex(out.scalar_type()) ? value : Complex(value.real()));
        write_complex(views[1].data, views[1].dtype, offsets[1] + i * views[1].strides[d], total);
      }
    });
    return out;
  }
  with_arithmetic_type(arithmetic_type(out.scalar_type()), [&](auto zero) {
    using C = decltype(zero);
    using Total = std::conditional_t<std::is_same_v<C, float>, double, C>;
    const StridedView views[] = {at_least_1d(in), at_least_1d(out)};
    BlockReader reader(in, compute_type_of<C>(), views[0].strides[d]);
    BlockWriter writer(out, compute_type_of<C>(), views[1].strides[d]);
    const size_t length = static_cast<size_t>(views[0].sizes[d]);
    for_each_line(views, d, [&](const int64_t* offsets) {
      Total total = static_cast<Total>(first);
      for (size_t begin = 0; begin < length; begin += kBlock) {
        const size_t count = std::min(kBlock, length - begin);
        const C* values =
            static_cast<const C*>(reader.read(offsets[0] + static_cast<int64_t>(begin) * reader.stride(), count));
        const int64_t to = offsets[1] + static_cast<int64_t>(begin) * writer.stride();
        C* results = static_cast<C*>(writer.begin(to));
        for (size_t i = 0; i < count; ++i) {
          total = combine(total, static_cast<Total>(values[i]));
          results[i] = static_cast<C>(total);
        }
        writer.commit(to, count);
      }
    });
  });
  return out;
}

// The largest (smallest) value so far and its position: of equal values the last one, and NaN rather than any number.
template <bool is_max>
std::tuple<Tensor&, Tensor&> extreme_so_far(KernelRuntimeContext& ctx, const char* name, const Tensor& in, int64_t dim,
                                            Tensor& values, Tensor& indices) {
  const std::tuple<Tensor&, Tensor&> result(values, indices);
  size_t d = 0;
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(in.scalar_type()), InvalidArgument, result,
                      "%s: inputs of dtype %s are not supported", name, toString(in.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, indices.scalar_type() == ScalarType::Long, InvalidArgument, result,
                      "%s: the indices are int64; the output is %s", name, toString(indices.scalar_type()));
  if (!check_same_dtype(ctx, name, in, values) || !check_dim(ctx, name, dim, in.dim(), &d) ||
      !check_resize_like(ctx, name, values, in) || !check_resize_like(ctx, name, indices, in) || in.numel() == 0) {
    return result;
  }
  with_arithmetic_type(arithmetic_type(in.scalar_type()), [&](auto zero) {
    using C = decltype(zero);
    const ConvertFn load = load_fn(in.scalar_type(), compute_type_of<C>());
    const ConvertFn store = store_fn(compute_type_of<C>(), in.scalar_type());
    const StridedView views[] = {at_least_1d(in), at_least_1d(values), at_least_1d(indices)};
    const int64_t size = static_cast<int64_t>(views[0].element_size);
    for_each_line(views, d, [&](const int64_t* offsets) {
      C best = 0;
      int64_t place = 0;
      for (int64_t i = 0; i < views[0].sizes[d]; ++i) {
        C value;
        load(&value, views[0].data + (offsets[0] + i * views[0].strides[d]) * size, 1);
        if (i == 0 || is_nan(value) || (!is_nan(best) && (is_max ? value >= best : value <= best))) {
          best = value;
          place = i;
        }
        store(views[1].data + (offsets[1] + i * views[1].strides[d]) * size, &best, 1);
        indices.mutable_data_ptr<int64_t>()[offsets[2] + i * views[2].strides[d]] = place;
      }
    });
  });
  return result;
}

}  // namespace

Tensor& cumsum_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, std::optional<ScalarType> dtype,
                   Tensor& out) {
  return accumulate(ctx, "cumsum.out", in, dim, dtype, 0, out, [](auto a, auto b) { return wrapping_add(a, b); });
}

Tensor& cumprod_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, std::optional<ScalarType> dtype,
                    Tensor& out) {
  return accumulate(ctx, "cumprod.out", in, dim, dtype, 1, out, [](auto a, auto b) { return wrapping_mul(a, b); });
}

Tensor& logcumsumexp_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, Tensor& out) {
  constexpr const char* name = "logcumsumexp.out";
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::isFloatingType(in.scalar_type()), InvalidArgument, out,
                      "%s is defined on floating point, found %s", name, toString(in.scalar_type()));
  return accumulate(ctx, name, in, dim, std::nullopt, -std::numeric_limits<double>::infinity(), out,
                    [](auto total, auto value) {
                      using T = decltype(total);
                      if constexpr (std::is_same_v<T, double>) {
                        const double large = std::max(total, value), small = std::min(total, value);
                        // Infinities of one sign are equal, and their difference would be NaN. A NaN stays.
                        return total != total || large == small ? total + std::log(large == small ? 2.0 : 1.0)
                                                                : large + std::log1p(std::exp(small - large));
                      } else {
                        return total;
                      }
                    });
}

std::tuple<Tensor&, Tensor&> cummax_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, Tensor& values,
                                        Tensor& indices) {
  return extreme_so_far<true>(ctx, "cummax.out", in, dim, values, indices);
}

std::tuple<Tensor&, Tensor&> cummin_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, Tensor& values,
                                        Tensor& indices) {
  return extreme_so_far<false>(ctx, "cummin.out", in, dim, values, indices);
}

}  // namespace torch::executor::native
