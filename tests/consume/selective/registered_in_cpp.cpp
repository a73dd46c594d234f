// SPDX-License-Identifier: BSD-3-Clause
// A custom operator without a YAML file: no selection applies to it.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>

using executorch::aten::Tensor;

static Tensor& in_cpp_out(const Tensor&, Tensor& out) {
  return out;
}

EXECUTORCH_LIBRARY(my_ops, "in_cpp.out", in_cpp_out);
