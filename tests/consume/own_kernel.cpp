// SPDX-License-Identifier: BSD-3-Clause
// A kernel that the application itself defines and that is registered when the program starts.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

namespace {

using executorch::aten::Scalar;
using executorch::aten::Tensor;
using executorch::runtime::KernelRuntimeContext;

Tensor& add_floats(KernelRuntimeContext&, const Tensor& a, const Tensor& b, const Scalar&, Tensor& out) {
  for (ssize_t i = 0; i < out.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = a.const_data_ptr<float>()[i] + b.const_data_ptr<float>()[i];
  }
  return out;
}

}  // namespace

EXECUTORCH_LIBRARY(aten, "add.out", add_floats);
