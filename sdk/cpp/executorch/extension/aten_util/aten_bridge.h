// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Shares memory between at::Tensor of PyTorch and tensors of this runtime, without copies. Needs PyTorch's
 * headers and library: link extension_aten_util (CMake option EXECUTORCH_BUILD_EXTENSION_ATEN_UTIL). Tensors of PyTorch
 * must be dense, strided and on the CPU.
 */
#pragma once

#include <ATen/Tensor.h>
#include <c10/core/ScalarTypeToTypeMeta.h>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace extension {

/// Converts a dtype of PyTorch. Aborts, after a log line, if the runtime does not have it.
torch::executor::ScalarType torch_to_executorch_scalar_type(caffe2::TypeMeta type);

/// Converts a dtype of the runtime. Aborts if PyTorch does not have it.
c10::ScalarType executorch_to_torch_scalar_type(torch::executor::ScalarType type);

/// Makes `et` use the data of `at`, which must stay alive. Both must have the same dtype, sizes and strides; otherwise
/// aborts, after a log line with the difference.
void alias_etensor_to_attensor(at::Tensor& at, torch::executor::Tensor& et);

/// An at::Tensor over the data of `et`, which must stay alive.
at::Tensor alias_attensor_to_etensor(const torch::executor::Tensor& et);

/// A tensor over the data of `t`, which it keeps alive. `t` must be dense (aborts otherwise): call contiguous() first.
TensorPtr alias_tensor_ptr_to_attensor(at::Tensor& t);

}  // namespace extension
}  // namespace executorch

namespace torch {
namespace executor {
namespace util {
using ::executorch::extension::alias_attensor_to_etensor;
using ::executorch::extension::alias_etensor_to_attensor;

// Older names.
inline torch::executor::ScalarType torchToExecuTorchScalarType(caffe2::TypeMeta type) {
  return ::executorch::extension::torch_to_executorch_scalar_type(type);
}
inline c10::ScalarType execuTorchtoTorchScalarType(torch::executor::ScalarType type) {
  return ::executorch::extension::executorch_to_torch_scalar_type(type);
}
}  // namespace util
}  // namespace executor

namespace util {
using ::torch::executor::util::alias_attensor_to_etensor;
using ::torch::executor::util::alias_etensor_to_attensor;
using ::torch::executor::util::execuTorchtoTorchScalarType;
using ::torch::executor::util::torchToExecuTorchScalarType;
}  // namespace util
}  // namespace torch
