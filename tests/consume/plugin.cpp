// SPDX-License-Identifier: BSD-3-Clause
// A shared library with a runtime, whose kernel the application that links it does not have.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace {

using executorch::aten::Tensor;

Tensor& nothing(executorch::runtime::KernelRuntimeContext&, Tensor& out) {
  return out;
}

}  // namespace

EXECUTORCH_LIBRARY(plugin, "nothing.out", nothing);

size_t kernels_of_plugin() {
  return executorch::runtime::get_registered_kernels().size();
}
