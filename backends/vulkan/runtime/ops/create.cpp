// SPDX-License-Identifier: BSD-3-Clause
// Operators that make tensors of constants.

#include <cmath>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

/// full, zeros, ones: the sizes, and for full the value.
template <int kKind>
void full(OpContext& c) {
  Tensor& out = c.result();
  c.resize(out, c.sizes_of(out, 0));
  fill(c, out, kKind == 2 ? c.real(1) : kKind);
}

template <int kKind>
void full_like(OpContext& c) {
  Tensor& out = c.result();
  c.resize(out, c.tensor(0).sizes);
  fill(c, out, kKind == 2 ? c.real(1) : kKind);
}

void scalar_tensor(OpContext& c) {
  Tensor& out = c.result();
  c.resize(out, {});
  fill(c, out, c.real(0));
}

void arange(OpContext& c) {
  Tensor& out = c.result();
  const double start = c.real(0);
  const double end = c.real(1);
  const double step = c.num_args() > 3 ? c.real(2, 1) : 1;
  const double count = step == 0 ? -1 : (end - start) / step;
  constexpr double kMost = int64_t{1} << 31;
  if (!c.check(count >= 0 && count < 1e9 && std::abs(start) <= kMost && std::abs(step) <= kMost,
               "from %g to %g in steps of %g", start, end, step)) {
    return;
  }
  int64_t length = static_cast<int64_t>(count);
  length += static_cast<double>(length) < count ? 1 : 0;
  c.resize(out, {length});
  if (!c.failed() && length > 0) {
    c.run("fill" + kinds({out.kind}), {c.memory(out)},
          Parameters().i(length).i(static_cast<int64_t>(start)).i(static_cast<int64_t>(step)).f(start).f(step), length);
  }
}

constexpr Operator kOperators[] = {
    {"aten.full.default", full<2>},
    {"aten.zeros.default", full<0>},
    {"aten.ones.default", full<1>},
    {"aten.full_like.default", full_like<2>},
    {"aten.zeros_like.default", full_like<0>},
    {"aten.ones_like.default", full_like<1>},
    {"aten.scalar_tensor.default", scalar_tensor},
    {"aten.arange.start_step", arange},
};

}  // namespace

Operators create_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
