// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "custom_linear.h"

#include <executorch/extension/aten_util/make_aten_functor_from_et_functor.h>

namespace {

at::Tensor custom_linear(const at::Tensor& weight, const at::Tensor& input, const std::optional<at::Tensor>& bias) {
  at::Tensor out = at::empty({input.size(0), weight.size(0)});
  WRAP_TO_ATEN(custom_linear_out, 3)(weight, input, bias, out);
  return out;
}

}  // namespace

TORCH_LIBRARY(myop, m) {
  m.def("custom_linear(Tensor weight, Tensor input, Tensor? bias) -> Tensor");
  m.def("custom_linear.out(Tensor weight, Tensor input, Tensor? bias, *, Tensor(a!) out) -> Tensor(a!)");
  // The kernel is passed to the definition, as in the documents, because torch.export does not trace these calls.
  m.def("eager_linear.out(Tensor weight, Tensor input, Tensor? bias, *, Tensor(a!) out) -> Tensor(a!)",
        WRAP_TO_ATEN(custom_linear_out, 3));
}

TORCH_LIBRARY_IMPL(myop, CPU, m) {
  m.impl("custom_linear", custom_linear);
  m.impl("custom_linear.out", WRAP_TO_ATEN(custom_linear_out, 3));
}
