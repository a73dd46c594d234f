// SPDX-License-Identifier: BSD-3-Clause
// A program with one input and one output in float32: it computes kInput of the program's header, and the output is
// compared with kExpected.
#include <executorch/runtime/platform/log.h>

#include "firmware.h"
#include "model_case.h"
#include "model_in_flash.h"

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::runtime::Error;
using executorch::runtime::Method;

namespace firmware {
namespace {

/// Gives the method kInput, in the shape that the program says, and runs it.
Error run_case(Method& method) {
  const auto meta = method.method_meta().input_tensor_meta(0);
  ET_CHECK_OR_RETURN_ERROR(meta.ok() && meta->scalar_type() == ScalarType::Float && meta->nbytes() == sizeof(kInput),
                           InvalidArgument, "The input is not of the kind of kInput");
  const auto sizes = meta->sizes();
  const auto dim_order = meta->dim_order();
  TensorImpl impl(ScalarType::Float, static_cast<ssize_t>(sizes.size()),
                  const_cast<executorch::aten::SizesType*>(sizes.data()), const_cast<float*>(kInput),
                  const_cast<executorch::aten::DimOrderType*>(dim_order.data()));
  // Copied to planned memory; nothing writes to the impl.
  const Error error = method.set_input(Tensor(&impl), 0);
  return error == Error::Ok ? method.execute() : error;
}

/// Prints the output and says whether it is what PyTorch computes.
bool check(const Tensor& output) {
  constexpr size_t kCount = sizeof(kExpected) / sizeof(kExpected[0]);
  if (output.scalar_type() != ScalarType::Float || static_cast<size_t>(output.numel()) != kCount) {
    write("FAILED: the output is not of the kind of kExpected\n");
    return false;
  }
  const float* found = output.const_data_ptr<float>();
  bool right = true;
  for (size_t i = 0; i < kCount; ++i) {
    const float difference = found[i] - kExpected[i];
    // Written so that NaN counts as wrong.
    const bool close = difference <= kTolerance && difference >= -kTolerance;
    right = right && close;
    write_float(found[i]);
    write(close ? " " : "(wrong) ");
  }
  write("\n");
  return right;
}

}  // namespace

Error find_program(const void** program, size_t* size) {
  *program = model_pte;
  *size = model_pte_size;
  return Error::Ok;
}

int run(Method& method) {
  const Error error = run_case(method);
  if (error != Error::Ok) {
    return fail("running the method", error);
  }
  return check(method.get_output(0).toTensor()) ? 0 : 1;
}

}  // namespace firmware
