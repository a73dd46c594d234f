// SPDX-License-Identifier: BSD-3-Clause
// Operators on the representation of numbers: nextafter.out, frexp.Tensor_out, hash_tensor.out.
#include <cmath>
#include <cstring>
#include <tuple>

#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/elementwise.h"
#include "kernels/portable/cpu/pattern/loop_nest.h"
#include "kernels/portable/cpu/pattern/strided_view.h"

namespace torch::executor::native {
namespace {

// The number of a 16-bit type that follows `x` in the direction of `y`. The magnitudes of such numbers have the order
// of their bits as integers.
template <typename Short>
float next_short(float x, float y) {
  if (x != x || y != y) {
    return x + y;
  }
  if (x == y) {
    return y;
  }
  const Short rounded = static_cast<Short>(x);
  uint16_t bits;
  std::memcpy(&bits, &rounded, sizeof(bits));
  if (x == 0) {
    bits = static_cast<uint16_t>(y < 0 ? 0x8001 : 0x0001);
  } else {
    bits = static_cast<uint16_t>((x < y) == (x > 0) ? bits + 1 : bits - 1);
  }
  Short result;
  std::memcpy(&result, &bits, sizeof(bits));
  return static_cast<float>(result);
}

}  // namespace

Tensor& nextafter_out(KernelRuntimeContext& ctx, const Tensor& a, const Tensor& b, Tensor& out) {
  constexpr const char* name = "nextafter.out";
  const ScalarType dtype = result_type({a, b});
  ET_KERNEL_CHECK_MSG(ctx, executorch::runtime::isFloatingType(dtype), InvalidArgument, out,
                      "%s is defined on floating point, found %s", name, toString(dtype));
  return floating_binary(ctx, name, a, b, out, [dtype](auto x, auto y) {
    if (dtype == ScalarType::Half || dtype == ScalarType::BFloat16) {
      const float from = static_cast<float>(x), to = static_cast<float>(y);
      return static_cast<decltype(x)>(dtype == ScalarType::Half ? next_short<executorch::aten::Half>(from, to)
                                                                : next_short<executorch::aten::BFloat16>(from, to));
    }
    return std::nextafter(x, y);
  });
}

std::tuple<Tensor&, Tensor&> frexp_Tensor_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& mantissa,
                                              Tensor& exponent) {
  constexpr const char* name = "frexp.Tensor_out";
  const std::tuple<Tensor&, Tensor&> result(mantissa, exponent);
  ET_KERNEL_CHECK_MSG(
      ctx, executorch::runtime::isFloatingType(in.scalar_type()) && exponent.scalar_type() == ScalarType::Int,
      InvalidArgument, result, "%s: expected floating point and an int32 exponent, found %s and %s", name,
      toString(in.scalar_type()), toString(exponent.scalar_type()));
  if (!check_same_dtype(ctx, name, in, mantissa) || !check_no_overlap(ctx, name, in, exponent) ||
      !check_resize_like(ctx, name, exponent, in)) {
    return result;
  }
  // Write the exponents first, because the mantissas may overwrite the input.
  const auto exponent_of = [](auto x) {
    int power = 0;
    (void)std::frexp(x, &power);
    return static_cast<int64_t>(std::isfinite(x) ? power : 0);
  };
  with_floating_type(arithmetic_type(in.scalar_type()), [&](auto zero) {
    using C = decltype(zero);
    elementwise<int64_t, C>([&](C x) { return exponent_of(x); }, Output(exponent, ScalarType::Int), in);
  });
  floating_unary(ctx, name, in, mantissa, [](auto x) {
    int power = 0;
    return std::frexp(x, &power);
  });
  return result;
}

// The exclusive or of the bits of the elements along `dims` (of all if it is empty): floating-point elements as double,
// integers as int64.
Tensor& hash_tensor_out(KernelRuntimeContext& ctx, const Tensor& in, ArrayRef<int64_t> dims, bool keepdim, int64_t mode,
                        Tensor& out) {
  constexpr const char* name = "hash_tensor.out";
  ET_KERNEL_CHECK_MSG(ctx, mode == 0 && out.scalar_type() == ScalarType::UInt64 && is_supported_dtype(in.scalar_type()),
                      InvalidArgument, out, "%s: expected mode 0 and a uint64 output, found mode %lld and %s of %s",
                      name, static_cast<long long>(mode), toString(out.scalar_type()), toString(in.scalar_type()));
  if (!check_no_overlap(ctx, name, in, out)) {
    return out;
  }
  const StridedView source = StridedView::of(in);
  bool reduced[kTensorDimensionLimit] = {};
  for (size_t d = 0; d < source.dims; ++d) {
    reduced[d] = dims.empty();
  }
  for (const int64_t dim : dims) {
    size_t d = 0;
    if (!check_dim(ctx, name, dim, in.dim(), &d)) {
      return out;
    }
    reduced[d] = true;
  }
  int64_t sizes[kTensorDimensionLimit];
  size_t rank = 0;
  for (size_t d = 0; d < source.dims; ++d) {
    if (!reduced[d] || keepdim) {
      sizes[rank++] = reduced[d] ? 1 : source.sizes[d];
    }
  }
  if (!check_resize(ctx, name, out, sizes, rank)) {
    return out;
  }
  auto* hashes = out.mutable_data_ptr<uint64_t>();
  std::memset(hashes, 0, out.nbytes());
  if (in.numel() == 0) {
    return out;
  }
  const StridedView target = StridedView::of(out);
  LoopNest<2> nest;
  size_t to = 0;
  for (size_t d = 0; d < source.dims; ++d) {
    const bool kept = !reduced[d] || keepdim;
    nest.push(source.sizes[d], {source.strides[d], reduced[d] ? 0 : target.strides[to]});
    to += kept ? 1 : 0;
  }
  const bool is_floating = executorch::runtime::isFloatingType(in.scalar_type());
  const ConvertFn load = load_fn(in.scalar_type(), is_floating ? ComputeType::Double : ComputeType::Int);
  nest.for_each([&](const int64_t* offsets) {
    uint64_t bits;
    static_assert(sizeof(bits) == sizeof(double) && sizeof(bits) == sizeof(int64_t));
    load(&bits, source.data + offsets[0] * static_cast<int64_t>(source.element_size), 1);
    hashes[offsets[1]] ^= bits;
  });
  return out;
}

}  // namespace torch::executor::native
