// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/aten_util/aten_bridge.h>

#include <limits>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace extension {

namespace {

/// Aborts unless the tensor is strided and its memory can be read by the CPU.
void check_on_cpu(const at::Tensor& at) {
  ET_CHECK_MSG(at.device().is_cpu() && at.layout() == at::kStrided && !at.is_conj() && !at.is_neg(),
               "the at::Tensor is on %s, not strided or lazily negated; call cpu(), to_dense() or resolve_conj() first",
               at.device().str().c_str());
}

/// Aborts unless both have the same dtype, sizes and, where a dimension is longer than one, strides.
void check_same_layout(const at::Tensor& at, const torch::executor::Tensor& et) {
  ET_CHECK_MSG(torch_to_executorch_scalar_type(at.options().dtype()) == et.scalar_type(),
               "the at::Tensor is of dtype %s, the tensor of %s", c10::toString(at.scalar_type()),
               runtime::toString(et.scalar_type()));
  ET_CHECK_MSG(at.dim() == et.dim(), "the at::Tensor has %d dimensions, the tensor %d", static_cast<int>(at.dim()),
               static_cast<int>(et.dim()));
  for (ssize_t d = 0; d < et.dim(); ++d) {
    ET_CHECK_MSG(at.size(d) == et.size(d), "dimension %d: the at::Tensor has size %d, the tensor %d",
                 static_cast<int>(d), static_cast<int>(at.size(d)), static_cast<int>(et.size(d)));
    // In PyTorch a dimension of size 1 may have any stride.
    ET_CHECK_MSG(at.size(d) <= 1 || at.stride(d) == et.strides()[d],
                 "dimension %d: the at::Tensor has stride %d, the tensor %d", static_cast<int>(d),
                 static_cast<int>(at.stride(d)), static_cast<int>(et.strides()[d]));
  }
}

}  // namespace

torch::executor::ScalarType torch_to_executorch_scalar_type(caffe2::TypeMeta type) {
  // Both enumerations have the numbers of the serialized formats.
  const auto scalar_type = static_cast<torch::executor::ScalarType>(c10::typeMetaToScalarType(type));
  ET_CHECK_MSG(runtime::isValid(scalar_type), "the runtime has no dtype for PyTorch's %s",
               c10::toString(c10::typeMetaToScalarType(type)));
  return scalar_type;
}

c10::ScalarType executorch_to_torch_scalar_type(torch::executor::ScalarType type) {
  ET_CHECK_MSG(runtime::isValid(type), "%d is not a dtype", static_cast<int>(type));
  return static_cast<c10::ScalarType>(type);
}

void alias_etensor_to_attensor(at::Tensor& at, torch::executor::Tensor& et) {
  check_on_cpu(at);
  check_same_layout(at, et);
  et.unsafeGetTensorImpl()->set_data(at.mutable_data_ptr());
}

at::Tensor alias_attensor_to_etensor(const torch::executor::Tensor& et) {
  const std::vector<int64_t> sizes(et.sizes().begin(), et.sizes().end());
  const std::vector<int64_t> strides(et.strides().begin(), et.strides().end());
  ET_CHECK_MSG(et.device_type() == aten::DeviceType::CPU, "the tensor is on device type %d; copy it to the CPU first",
               static_cast<int>(et.device_type()));
  const auto options = at::TensorOptions().dtype(executorch_to_torch_scalar_type(et.scalar_type()));
  return at::from_blob(et.mutable_data_ptr(), sizes, strides, options);
}

TensorPtr alias_tensor_ptr_to_attensor(at::Tensor& t) {
  check_on_cpu(t);
  ET_CHECK_MSG(t.is_non_overlapping_and_dense(), "the at::Tensor is not dense; call contiguous() first");
  std::vector<aten::StridesType> strides;
  for (const int64_t size : t.sizes()) {
    ET_CHECK_MSG(size <= std::numeric_limits<aten::SizesType>::max(), "size %lld is too large for a tensor",
                 static_cast<long long>(size));
  }
  if (!t.is_contiguous()) {
    strides.assign(t.strides().begin(), t.strides().end());
  }
  return make_tensor_ptr(std::vector<aten::SizesType>(t.sizes().begin(), t.sizes().end()), t.mutable_data_ptr(), {},
                         std::move(strides), torch_to_executorch_scalar_type(t.options().dtype()),
                         aten::TensorShapeDynamism::DYNAMIC_BOUND, [t](void*) {});
}

}  // namespace extension
}  // namespace executorch
