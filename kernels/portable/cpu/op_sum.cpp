// SPDX-License-Identifier: BSD-3-Clause
// Reductions that combine values one by one: sum, mean, prod, amax, amin, max/min of all elements, any, all.
#include <limits>

#include "kernels/portable/cpu/math/visit_dtype.h"
#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/complex_number.h"
#include "kernels/portable/cpu/pattern/reduction.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::isFloatingType;

// Sums and products of float are computed in double. That is exact enough without compensated summation, and not
// measurably slower.
template <typename C>
using Wider = std::conditional_t<std::is_same_v<C, float>, double, C>;

template <typename C>
struct Sum {
  using Value = C;
  using Total = Wider<C>;
  using Out = C;
  Total divisor = 1;

  static C identity() { return 0; }
  static C combine(C a, C b) { return wrapping_add(a, b); }
  static Total merge(Total a, C b) { return wrapping_add<Total>(a, b); }
  C finish(Total total) const { return static_cast<C>(total / divisor); }
};

template <typename C>
struct Product {
  using Value = C;
  using Total = Wider<C>;
  using Out = C;

  static C identity() { return 1; }
  static C combine(C a, C b) { return wrapping_mul(a, b); }
  static Total merge(Total a, C b) { return wrapping_mul<Total>(a, b); }
  C finish(Total total) const { return static_cast<C>(total); }
};

template <typename C, bool is_max>
struct Extreme {
  using Value = C;
  using Total = C;
  using Out = C;

  static C identity() {
    using Limits = std::numeric_limits<C>;
    if constexpr (Limits::has_infinity) {
      return is_max ? -Limits::infinity() : Limits::infinity();
    } else {
      return is_max ? Limits::lowest() : Limits::max();
    }
  }
  static C combine(C a, C b) { return is_max ? nan_max(a, b) : nan_min(a, b); }
  static C merge(C a, C b) { return combine(a, b); }
  C finish(C total) const { return total; }
};

template <bool is_any>
struct Logic {
  using Value = uint8_t;
  using Total = uint8_t;
  using Out = uint8_t;

  static uint8_t identity() { return is_any ? 0 : 1; }
  static uint8_t combine(uint8_t a, uint8_t b) { return is_any ? a | b : a & b; }
  static uint8_t merge(uint8_t a, uint8_t b) { return combine(a, b); }
  uint8_t finish(uint8_t total) const { return total; }
};

bool check_dtypes(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, is_number(in.scalar_type()) && is_number(out.scalar_type()), InvalidArgument, false,
                      "%s: %s to %s is not supported", name, toString(in.scalar_type()), toString(out.scalar_type()));
  return true;
}

bool prepare(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const OptionalArrayRef<int64_t>& dims,
             bool keepdim, Tensor& out, ReducedDims* reduced) {
  return check_dtypes(ctx, name, in, out) && parse_reduced_dims(ctx, name, in, dims, reduced) &&
         resize_to_reduced(ctx, name, in, *reduced, keepdim, out);
}

bool check_result(KernelRuntimeContext& ctx, const char* name, const std::optional<ScalarType>& dtype,
                  const Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, !dtype.has_value() || *dtype == out.scalar_type(), InvalidArgument, false,
                      "%s: the output must have the given dtype %s, found %s", name, toString(*dtype),
                      toString(out.scalar_type()));
  return true;
}

// out = finish(fold of `in` along the reduced dimensions, starting from `initial`), for complex numbers. Returns false
// if neither tensor is complex.
template <typename Fold, typename Finish>
bool reduce_complex(const Tensor& in, const ReducedDims& reduced, const Tensor& out, Complex initial, const Fold& fold,
                    const Finish& finish) {
  if (!is_complex(in.scalar_type()) && !is_complex(out.scalar_type())) {
    return false;
  }
  if (out.numel() == 0) {
    return true;
  }
  LoopNest<2> kept;
  LoopNest<1> folded;
  reduction_loops(in, reduced, out, &kept, &folded);
  kept.for_each([&](const int64_t* offsets) {
    Complex total = initial;
    if (reduced.count > 0) {
      folded.for_each([&](const int64_t* offset) {
        total = fold(total, read_complex(in.const_data_ptr(), in.scalar_type(), offsets[0] + offset[0]));
      });
    }
    write_complex(out.mutable_data_ptr(), out.scalar_type(), offsets[1], finish(total));
  });
  return true;
}

bool is_fractional(const Tensor& tensor) {
  return isFloatingType(tensor.scalar_type()) || is_complex(tensor.scalar_type());
}

// Sums are computed in the dtype of the output, to which each element is converted. A requested dtype may thus drop
// fractions; a bool output is true if the sum is not zero.
Tensor& sum(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const OptionalArrayRef<int64_t>& dims,
            bool keepdim, const std::optional<ScalarType>& dtype, bool is_mean, Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx,
                      dtype.has_value() || ((!isFloatingType(in.scalar_type()) || is_fractional(out)) &&
                                            (!is_complex(in.scalar_type()) || is_complex(out.scalar_type()))),
                      InvalidArgument, out, "%s: %s values cannot be stored in an output of dtype %s", name,
                      toString(in.scalar_type()), toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, !is_mean || is_fractional(out), InvalidArgument, out,
                      "%s: a mean needs a floating-point output, found %s", name, toString(out.scalar_type()));
  ReducedDims reduced;
  if (check_result(ctx, name, dtype, out) && prepare(ctx, name, in, dims, keepdim, out, &reduced)) {
    const double count = is_mean ? static_cast<double>(reduced.count) : 1.0;
    if (reduce_complex(
            in, reduced, out, 0.0, [](Complex a, Complex b) { return a + b; },
            [count](Complex total) { return total / count; })) {
      return out;
    }
    with_arithmetic_type(arithmetic_type(out.scalar_type()), [&](auto zero) {
      Sum<decltype(zero)> op;
      op.divisor = is_mean ? static_cast<decltype(op.divisor)>(reduced.count) : 1;
      reduce(op, in, reduced, out);
    });
  }
  return out;
}

Tensor& product(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const OptionalArrayRef<int64_t>& dims,
                bool keepdim, const std::optional<ScalarType>& dtype, Tensor& out) {
  ReducedDims reduced;
  if (check_result(ctx, name, dtype, out) && prepare(ctx, name, in, dims, keepdim, out, &reduced)) {
    if (reduce_complex(in, reduced, out, 1.0, multiply, [](Complex total) { return total; })) {
      return out;
    }
    with_arithmetic_type(arithmetic_type(out.scalar_type()),
                         [&](auto zero) { reduce(Product<decltype(zero)>(), in, reduced, out); });
  }
  return out;
}

// Stores the identity of max (the lowest value of the output's dtype) or of min (the highest) in the only element.
template <bool is_max>
void store_identity(KernelRuntimeContext& ctx, const char* name, Tensor& out) {
  if (out.scalar_type() == ScalarType::Bool) {
    *out.mutable_data_ptr<bool>() = !is_max;
    return;
  }
  visit_real(ctx, name, out.scalar_type(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_integral_v<T>) {
      *out.mutable_data_ptr<T>() = is_max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    } else {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      *out.mutable_data_ptr<T>() = static_cast<T>(is_max ? -kInfinity : kInfinity);
    }
  });
}

// The extreme of all elements; the output has any dtype that they can be cast to. Without elements, where eager fails,
// the result is the lowest (highest) value of the output's dtype.
template <bool is_max>
Tensor& extreme(KernelRuntimeContext& ctx, const char* name, const Tensor& in, Tensor& out) {
  ReducedDims reduced;
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::canCast(in.scalar_type(), out.scalar_type()), InvalidArgument, out,
                      "%s: %s values cannot be stored in an output of dtype %s", name, toString(in.scalar_type()),
                      toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, !is_complex(in.scalar_type()) && !is_complex(out.scalar_type()), InvalidArgument, out,
                      "%s: complex numbers have no order", name);
  if (!prepare(ctx, name, in, {}, /*keepdim=*/false, out, &reduced)) {
    return out;
  }
  if (reduced.count == 0) {
    store_identity<is_max>(ctx, name, out);
    return out;
  }
  with_arithmetic_type(arithmetic_type(in.scalar_type()),
                       [&](auto zero) { reduce(Extreme<decltype(zero), is_max>(), in, reduced, out); });
  return out;
}

template <bool is_max>
Tensor& extreme(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const OptionalArrayRef<int64_t>& dims,
                bool keepdim, Tensor& out) {
  ReducedDims reduced;
  if (!check_same_dtype(ctx, name, in, out) || !prepare(ctx, name, in, dims, keepdim, out, &reduced)) {
    return out;
  }
  ET_KERNEL_CHECK_MSG(ctx, !is_complex(in.scalar_type()), InvalidArgument, out, "%s: complex numbers have no order",
                      name);
  ET_KERNEL_CHECK_MSG(ctx, reduced.count > 0 || out.numel() == 0, InvalidArgument, out,
                      "%s: the reduced dimensions are empty, so there is no extreme value", name);
  with_arithmetic_type(arithmetic_type(in.scalar_type()),
                       [&](auto zero) { reduce(Extreme<decltype(zero), is_max>(), in, reduced, out); });
  return out;
}

template <bool is_any>
Tensor& logic(KernelRuntimeContext& ctx, const char* name, const Tensor& in, const OptionalArrayRef<int64_t>& dims,
              bool keepdim, Tensor& out, bool is_elementwise = false) {
  ReducedDims reduced = {{}, 1};
  if (is_elementwise ? check_dtypes(ctx, name, in, out) && resize_to_reduced(ctx, name, in, reduced, keepdim, out)
                     : prepare(ctx, name, in, dims, keepdim, out, &reduced)) {
    const bool is_done = reduce_complex(
        in, reduced, out, is_any ? 0.0 : 1.0,
        [](Complex a, Complex b) {
          const bool first = a != 0.0, second = b != 0.0;
          return Complex((is_any ? first || second : first && second) ? 1.0 : 0.0);
        },
        [](Complex total) { return total; });
    if (!is_done) {
      reduce(Logic<is_any>(), in, reduced, out);
    }
  }
  return out;
}

}  // namespace

Tensor& sum_dim_out(KernelRuntimeContext& ctx, const Tensor& in, OptionalArrayRef<int64_t> dim, bool keepdim,
                    std::optional<ScalarType> dtype, Tensor& out) {
  return sum(ctx, "sum.IntList_out", in, dim, keepdim, dtype, /*is_mean=*/false, out);
}

Tensor& mean_dim_out(KernelRuntimeContext& ctx, const Tensor& in, OptionalArrayRef<int64_t> dim, bool keepdim,
                     std::optional<ScalarType> dtype, Tensor& out) {
  return sum(ctx, "mean.out", in, dim, keepdim, dtype, /*is_mean=*/true, out);
}

Tensor& mean_dtype_out(KernelRuntimeContext& ctx, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out) {
  return sum(ctx, "mean.dtype_out", in, {}, /*keepdim=*/false, dtype, /*is_mean=*/true, out);
}

Tensor& prod_out(KernelRuntimeContext& ctx, const Tensor& in, std::optional<ScalarType> dtype, Tensor& out) {
  return product(ctx, "prod.out", in, {}, /*keepdim=*/false, dtype, out);
}

Tensor& prod_int_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool keepdim,
                     std::optional<ScalarType> dtype, Tensor& out) {
  return product(ctx, "prod.int_out", in, IntArrayRef(&dim, 1), keepdim, dtype, out);
}

Tensor& amax_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dim, bool keepdim, Tensor& out) {
  return extreme<true>(ctx, "amax.out", in, dim, keepdim, out);
}

Tensor& amin_out(KernelRuntimeContext& ctx, const Tensor& in, IntArrayRef dim, bool keepdim, Tensor& out) {
  return extreme<false>(ctx, "amin.out", in, dim, keepdim, out);
}

Tensor& max_unary_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return extreme<true>(ctx, "max.unary_out", in, out);
}

Tensor& min_unary_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {
  return extreme<false>(ctx, "min.unary_out", in, out);
}

#define DEFINE_LOGIC(name, is_any, kernel, dims_kernel, all_kernel)                                             \
  Tensor& kernel(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, bool keepdim, Tensor& out) {         \
    return logic<is_any>(ctx, #name ".out", in, IntArrayRef(&dim, 1), keepdim, out);                            \
  }                                                                                                             \
  Tensor& dims_kernel(KernelRuntimeContext& ctx, const Tensor& in, OptionalArrayRef<int64_t> dim, bool keepdim, \
                      Tensor& out) {                                                                            \
    /* an empty list means no dimension; a missing one, all of them */                                          \
    return logic<is_any>(ctx, #name ".dims_out", in, dim, keepdim, out, dim.has_value() && dim->empty());       \
  }                                                                                                             \
  Tensor& all_kernel(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out) {                                \
    return logic<is_any>(ctx, #name ".all_out", in, {}, /*keepdim=*/false, out);                                \
  }

DEFINE_LOGIC(any, true, any_out, any_dims_out, any_all_out)
DEFINE_LOGIC(all, false, all_out, all_dims_out, all_all_out)

}  // namespace torch::executor::native
