// SPDX-License-Identifier: BSD-3-Clause
// Elementwise functions of contiguous floats, for the best instruction set of the machine.
#pragma once

#include <cstddef>

namespace torch::executor::native {

/// out[i] = f(in[0][i], in[1][i]) for i < count. `p` are the scalar parameters of f; `in` holds as many pointers to
/// floats as f has inputs. `out` may be an input.
using FloatBlock = void (*)(const void* const* in, float* out, size_t count, const float* p);

#define ET_FORALL_FLOAT_BLOCKS(_)                   \
  _(add_scaled) /* x + p[0] y */                    \
  _(mul)                                            \
  _(div)                                            \
  _(clamp) /* between p[0] and p[1]; NaN is kept */ \
  _(relu)                                           \
  _(square)                                         \
  _(sqrt)                                           \
  _(rsqrt)                                          \
  _(exp)                                            \
  _(sigmoid)                                        \
  _(tanh)                                           \
  _(gelu)      /* x / 2 (1 + erf(x / sqrt(2))) */   \
  _(gelu_tanh) /* its approximation by tanh */

#define ET_DECLARE(name) void float_##name(const void* const* in, float* out, size_t count, const float* p);
ET_FORALL_FLOAT_BLOCKS(ET_DECLARE)
#undef ET_DECLARE

}  // namespace torch::executor::native
