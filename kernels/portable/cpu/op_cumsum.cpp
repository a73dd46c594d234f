// SPDX-License-Identifier: BSD-3-Clause
// cumsum.out: sums of the elements up to each one along a dimension.
#include <algorithm>
#include <optional>

#include "kernels/portable/cpu/pattern/arithmetic.h"
#include "kernels/portable/cpu/pattern/block_reader.h"
#include "kernels/portable/cpu/pattern/checks.h"
#include "kernels/portable/cpu/pattern/lines.h"

namespace torch::executor::native {

Tensor& cumsum_out(KernelRuntimeContext& ctx, const Tensor& in, int64_t dim, std::optional<ScalarType> dtype,
                   Tensor& out) {
  constexpr const char* name = "cumsum.out";
  size_t d = 0;
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(in.scalar_type()) && is_supported_dtype(out.scalar_type()),
                      InvalidArgument, out, "%s: %s to %s is not supported", name, toString(in.scalar_type()),
                      toString(out.scalar_type()));
  ET_KERNEL_CHECK_MSG(ctx, !dtype.has_value() || *dtype == out.scalar_type(), InvalidArgument, out,
                      "%s: the output must be %s as asked for, found %s", name, toString(*dtype),
                      toString(out.scalar_type()));
  if (!check_dim(ctx, name, dim, in.dim(), &d) || !check_resize_like(ctx, name, out, in) || out.numel() == 0) {
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
      Total total = 0;
      for (size_t begin = 0; begin < length; begin += kBlock) {
        const size_t count = std::min(kBlock, length - begin);
        const C* values =
            static_cast<const C*>(reader.read(offsets[0] + static_cast<int64_t>(begin) * reader.stride(), count));
        const int64_t to = offsets[1] + static_cast<int64_t>(begin) * writer.stride();
        C* sums = static_cast<C*>(writer.begin(to));
        for (size_t i = 0; i < count; ++i) {
          total = wrapping_add<Total>(total, values[i]);
          sums[i] = static_cast<C>(total);
        }
        writer.commit(to, count);
      }
    });
  });
  return out;
}

}  // namespace torch::executor::native
