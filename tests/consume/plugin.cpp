// SPDX-License-Identifier: BSD-3-Clause
// A shared library that contains a runtime and a kernel. The application that links it must not find this kernel.
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
