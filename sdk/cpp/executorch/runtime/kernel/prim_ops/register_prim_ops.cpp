// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>

namespace executorch {
namespace runtime {
namespace prim_ops {

namespace {

Error register_all() {
  const Error error = register_kernels(scalar_kernels());
  return error == Error::Ok ? register_kernels(tensor_kernels()) : error;
}

}  // namespace

Error register_prim_ops() {
  // Threads may load their first programs at the same time.
  static const Error result = register_all();
  return result;
}

}  // namespace prim_ops
}  // namespace runtime
}  // namespace executorch
