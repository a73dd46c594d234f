// SPDX-License-Identifier: BSD-3-Clause
// Replaces the library prim_ops, if it is linked as an object, in firmware whose program has no prim operators.
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>

namespace executorch {
namespace runtime {
namespace prim_ops {

Span<const Kernel> scalar_kernels() {
  return {};
}

Span<const Kernel> tensor_kernels() {
  return {};
}

Error register_prim_ops() {
  return Error::Ok;
}

}  // namespace prim_ops
}  // namespace runtime
}  // namespace executorch
