// SPDX-License-Identifier: BSD-3-Clause
// The names of executorch::aten as PyTorch's types (USE_ATEN_LIB). Included by exec_aten.h.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/OptionalArrayRef.h>
#include <c10/util/complex.h>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/result.h>

#define ET_RUNTIME_NAMESPACE runtime::aten

// printf formats of a tensor's element types, for messages.
#define ET_PRI_TENSOR_SIZE PRId64
#define ET_PRI_TENSOR_DIM PRId64
#define ET_PRI_TENSOR_NUMEL PRId64
#define ET_PRI_SIZES_AND_STRIDES PRId64

/// _(C++ type, ScalarType name) for every element type.
#define ET_FORALL_SCALAR_TYPES(_) AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(_)

namespace executorch {
namespace aten {

using Tensor = ::at::Tensor;
using TensorImpl = ::c10::TensorImpl;
using ::c10::ArrayRef;
using ScalarType = ::c10::ScalarType;
using TensorList = ArrayRef<Tensor>;
using Scalar = ::c10::Scalar;
using MemoryFormat = ::c10::MemoryFormat;
using SizesType = int64_t;
using DimOrderType = uint8_t;
using StridesType = int64_t;
using Device = ::c10::Device;
using DeviceType = ::c10::DeviceType;
using DeviceIndex = ::c10::DeviceIndex;
using Layout = ::c10::Layout;

using Half = ::c10::Half;
using ::c10::complex;
using qint8 = ::c10::qint8;
using quint8 = ::c10::quint8;
using qint32 = ::c10::qint32;
using BFloat16 = ::c10::BFloat16;
using quint4x2 = ::c10::quint4x2;
using quint2x4 = ::c10::quint2x4;
using IntArrayRef = ::c10::IntArrayRef;
using ::c10::OptionalArrayRef;
using OptionalIntArrayRef = ::c10::OptionalIntArrayRef;

/// Product of the sizes; aborts when a size is negative or the product overflows.
ssize_t compute_numel(const SizesType* sizes, ssize_t dim);

/// Product of the sizes, or Error::InvalidArgument (logged) when a size is negative or the product overflows. Programs
/// have sizes of 32 bits, tensors of 64.
::executorch::runtime::Result<ssize_t> safe_numel(const SizesType* sizes, ssize_t dim);
::executorch::runtime::Result<ssize_t> safe_numel(const int32_t* sizes, ssize_t dim);

}  // namespace aten

// Namespaces that differ in this build, and the tensor types, also have the names of the portable build.
namespace runtime {
namespace aten {
using namespace ::executorch::aten;
using namespace ::executorch::runtime;
}  // namespace aten
using namespace aten;
}  // namespace runtime
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::aten::BFloat16;
using ::executorch::aten::complex;
using ::executorch::aten::compute_numel;
using ::executorch::aten::Device;
using ::executorch::aten::DeviceIndex;
using ::executorch::aten::DeviceType;
using ::executorch::aten::Half;
using ::executorch::aten::Layout;
using ::executorch::aten::MemoryFormat;
using ::executorch::aten::qint32;
using ::executorch::aten::qint8;
using ::executorch::aten::quint2x4;
using ::executorch::aten::quint4x2;
using ::executorch::aten::quint8;
using ::executorch::aten::safe_numel;
using ::executorch::aten::Scalar;
using ::executorch::aten::ScalarType;
using ::executorch::aten::Tensor;
using ::executorch::aten::TensorImpl;
}  // namespace executor
}  // namespace torch
