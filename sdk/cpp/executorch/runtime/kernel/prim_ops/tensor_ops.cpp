// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <cstring>
#include <limits>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>

namespace executorch {
namespace runtime {
namespace prim_ops {

namespace {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;

/// Fails the call with InvalidProgram unless `condition`.
bool expect(KernelRuntimeContext& context, bool condition, const char* message) {
  if (!condition) {
    ET_LOG(Error, "%s", message);
    context.fail(Error::InvalidProgram);
  }
  return condition;
}

/// Fails the call with InvalidArgument unless `condition`.
bool require(KernelRuntimeContext& context, bool condition, const char* message) {
  if (!condition) {
    ET_LOG(Error, "%s", message);
    context.fail(Error::InvalidArgument);
  }
  return condition;
}

bool is_contiguous(const Tensor& tensor) {
  const auto order = internal::dim_order_of(tensor);
  return internal::is_dense_on_cpu(tensor) && is_contiguous_dim_order(order.data(), order.size());
}

bool is_result_slot(const EValue& value) {
  return value.isScalar() || value.isNone();
}

/// aten::sym_size.int(Tensor self, int dim) -> int
void sym_size(KernelRuntimeContext& context, Span<EValue*> args) {
  if (!expect(context, args.size() == 3 && args[0]->isTensor() && args[1]->isInt() && is_result_slot(*args[2]),
              "sym_size expects a tensor, an int and a result")) {
    return;
  }
  const Tensor& self = args[0]->toTensor();
  const int64_t dim = args[1]->toInt();
  if (require(context, dim >= -self.dim() && dim < self.dim(), "sym_size: there is no such dimension")) {
    *args[2] = EValue(static_cast<int64_t>(self.size(static_cast<ssize_t>(dim < 0 ? dim + self.dim() : dim))));
  }
}

/// aten::sym_numel(Tensor self) -> int
void sym_numel(KernelRuntimeContext& context, Span<EValue*> args) {
  if (expect(context, args.size() == 2 && args[0]->isTensor() && is_result_slot(*args[1]),
             "sym_numel expects a tensor and a result")) {
    *args[1] = EValue(static_cast<int64_t>(args[0]->toTensor().numel()));
  }
}

/// aten::_local_scalar_dense(Tensor self) -> Scalar: the one element of a tensor.
void local_scalar_dense(KernelRuntimeContext& context, Span<EValue*> args) {
  if (!expect(context, args.size() == 2 && args[0]->isTensor() && is_result_slot(*args[1]),
              "_local_scalar_dense expects a tensor and a result")) {
    return;
  }
  const Tensor& self = args[0]->toTensor();
  const void* data = self.const_data_ptr();
  if (!require(context, self.numel() == 1 && data != nullptr, "_local_scalar_dense: the tensor has not one element")) {
    return;
  }
  EValue& out = *args[1];
  switch (self.scalar_type()) {
    case ScalarType::Bool:
      out = EValue(*static_cast<const uint8_t*>(data) != 0);
      return;
    case ScalarType::Byte:
      out = EValue(int64_t{*static_cast<const uint8_t*>(data)});
      return;
    case ScalarType::Char:
      out = EValue(int64_t{*static_cast<const int8_t*>(data)});
      return;
    case ScalarType::Short:
      out = EValue(int64_t{*static_cast<const int16_t*>(data)});
      return;
    case ScalarType::Int:
      out = EValue(int64_t{*static_cast<const int32_t*>(data)});
      return;
    case ScalarType::Long:
      out = EValue(*static_cast<const int64_t*>(data));
      return;
    case ScalarType::UInt16:
      out = EValue(int64_t{*static_cast<const uint16_t*>(data)});
      return;
    case ScalarType::UInt32:
      out = EValue(int64_t{*static_cast<const uint32_t*>(data)});
      return;
    case ScalarType::UInt64: {
      const uint64_t value = *static_cast<const uint64_t*>(data);
      if (require(context, value <= INT64_MAX, "_local_scalar_dense: the element does not fit 64 signed bits")) {
        out = EValue(static_cast<int64_t>(value));
      }
      return;
    }
    case ScalarType::Half:
      out = EValue(static_cast<double>(*static_cast<const executorch::aten::Half*>(data)));
      return;
    case ScalarType::BFloat16:
      out = EValue(static_cast<double>(*static_cast<const executorch::aten::BFloat16*>(data)));
      return;
    case ScalarType::Float:
      out = EValue(double{*static_cast<const float*>(data)});
      return;
    case ScalarType::Double:
      out = EValue(*static_cast<const double*>(data));
      return;
    default:
      require(context, false, "_local_scalar_dense: the dtype has no scalars");
  }
}

/// executorch_prim::et_copy_index.tensor(Tensor(a!) copy_to, Tensor copy_from, int index): copy_to[index] = copy_from.
/// A copy_to of dynamic shape gets index + 1 entries: a loop fills it from the start.
void copy_index(KernelRuntimeContext& context, Span<EValue*> args) {
  if (!expect(context, args.size() >= 3 && args[0]->isTensor() && args[1]->isTensor() && args[2]->isInt(),
              "et_copy_index expects two tensors and an int")) {
    return;
  }
  const Tensor& to = args[0]->toTensor();
  const Tensor& from = args[1]->toTensor();
  const int64_t index = args[2]->toInt();
  if (!require(
          context,
          to.scalar_type() == from.scalar_type() && to.dim() == from.dim() + 1 && index >= 0 &&
              index < std::numeric_limits<SizesType>::max(),
          "et_copy_index: the tensors have different dtypes, their ranks do not differ by 1, or the index is out of "
          "range") ||
      !require(context, is_contiguous(to) && is_contiguous(from), "et_copy_index: the tensors are not contiguous")) {
    return;
  }
  SizesType sizes[kTensorDimensionLimit];
  const bool is_static = internal::shape_dynamism_of(to) == executorch::aten::TensorShapeDynamism::STATIC;
  sizes[0] = is_static ? to.sizes()[0] : static_cast<SizesType>(index + 1);
  for (ssize_t i = 0; i < from.dim(); ++i) {
    sizes[i + 1] = from.sizes()[static_cast<size_t>(i)];
  }
  const auto rank = static_cast<size_t>(to.dim());
  if (!require(context,
               resize_tensor(to, executorch::aten::ArrayRef<SizesType>(sizes, rank)) == Error::Ok && index < sizes[0],
               "et_copy_index: the destination cannot have that many entries") ||
      from.nbytes() == 0) {
    return;
  }
  if (require(context, to.const_data_ptr() != nullptr && from.const_data_ptr() != nullptr,
              "et_copy_index: a tensor has no data")) {
    std::memmove(static_cast<uint8_t*>(to.mutable_data_ptr()) + from.nbytes() * static_cast<size_t>(index),
                 from.const_data_ptr(), from.nbytes());
  }
}

/// executorch_prim::et_view.default(Tensor self, int[] size, Tensor out): gives `out` the data of `self` and another
/// shape. One size may be -1; it follows from the number of elements.
void view(KernelRuntimeContext& context, Span<EValue*> args) {
  if (!expect(context, args.size() == 3 && args[0]->isTensor() && args[1]->isIntList() && args[2]->isTensor(),
              "et_view expects a tensor, a list of sizes and a tensor")) {
    return;
  }
  const Tensor& self = args[0]->toTensor();
  const Tensor& out = args[2]->toTensor();
  const auto wanted = args[1]->tryToIntList();
  if (!expect(
          context,
          wanted.ok() && wanted->size() == static_cast<size_t>(out.dim()) && self.scalar_type() == out.scalar_type(),
          "et_view: expected integer sizes, one for each dimension of the output, and equal dtypes") ||
      !require(context, is_contiguous(self) && is_contiguous(out), "et_view: the tensors are not contiguous")) {
    return;
  }
  SizesType sizes[kTensorDimensionLimit];
  size_t inferred = wanted->size();
  int64_t known = 1;
  for (size_t i = 0; i < wanted->size(); ++i) {
    const int64_t size = (*wanted)[i];
    if (size == -1 && inferred == wanted->size()) {
      inferred = i;
      continue;
    }
    if (!require(
            context,
            size >= 0 && size <= std::numeric_limits<SizesType>::max() && !__builtin_mul_overflow(known, size, &known),
            "et_view: a size is negative or too large")) {
      return;
    }
    sizes[i] = static_cast<SizesType>(size);
  }
  const int64_t numel = self.numel();
  if (inferred < wanted->size()) {
    if (!require(context, known > 0 && numel % known == 0 && numel / known <= std::numeric_limits<SizesType>::max(),
                 "et_view: no size makes up for the -1")) {
      return;
    }
    sizes[inferred] = static_cast<SizesType>(numel / known);
    known = numel;
  }
  const executorch::aten::ArrayRef<SizesType> shape(sizes, wanted->size());
  if (require(context, known == numel, "et_view: the sizes have another number of elements") &&
      require(context, numel == 0 || self.const_data_ptr() != nullptr, "et_view: the tensor has no data") &&
      require(context, internal::resize_onto(out, shape, self) == Error::Ok,
              "et_view: the output cannot have that shape")) {
    internal::share_data(out, self);
  }
}

constexpr Kernel kKernels[] = {
    Kernel("aten::sym_size.int", sym_size),
    Kernel("aten::sym_numel", sym_numel),
    Kernel("aten::_local_scalar_dense", local_scalar_dense),
    Kernel("executorch_prim::et_copy_index.tensor", copy_index),
    Kernel("executorch_prim::et_view.default", view),
};

}  // namespace

Span<const Kernel> tensor_kernels() {
  return Span<const Kernel>(kKernels);
}

}  // namespace prim_ops
}  // namespace runtime
}  // namespace executorch
