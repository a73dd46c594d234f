// SPDX-License-Identifier: BSD-3-Clause
// The names of executorch::aten as the portable types. Included by exec_aten.h.
#pragma once

#include <optional>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/portable_type/bfloat16.h>
#include <executorch/runtime/core/portable_type/complex.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/portable_type/half.h>
#include <executorch/runtime/core/portable_type/optional.h>
#include <executorch/runtime/core/portable_type/qint_types.h>
#include <executorch/runtime/core/portable_type/scalar.h>
#include <executorch/runtime/core/portable_type/scalar_type.h>
#include <executorch/runtime/core/portable_type/string_view.h>
#include <executorch/runtime/core/portable_type/tensor.h>
#include <executorch/runtime/core/portable_type/tensor_options.h>

/// The namespace under `executorch` of declarations that differ between the portable and the ATen build.
#define ET_RUNTIME_NAMESPACE runtime

namespace executorch {
namespace aten {

using Tensor = ::torch::executor::Tensor;
using TensorImpl = ::torch::executor::TensorImpl;
template <typename T>
using ArrayRef = ::torch::executor::ArrayRef<T>;
using ScalarType = ::torch::executor::ScalarType;
using TensorList = ArrayRef<Tensor>;
using Scalar = ::torch::executor::Scalar;
using MemoryFormat = ::torch::executor::MemoryFormat;
using SizesType = ::torch::executor::Tensor::SizesType;
using DimOrderType = ::torch::executor::Tensor::DimOrderType;
using StridesType = ::torch::executor::Tensor::StridesType;
using Device = ::torch::executor::Device;
using DeviceType = ::torch::executor::DeviceType;
using DeviceIndex = ::torch::executor::DeviceIndex;
using Layout = ::torch::executor::Layout;

using Half = ::torch::executor::Half;
template <typename T>
using complex = ::torch::executor::complex<T>;
using qint8 = ::torch::executor::qint8;
using quint8 = ::torch::executor::quint8;
using qint32 = ::torch::executor::qint32;
using BFloat16 = ::torch::executor::BFloat16;
using quint4x2 = ::torch::executor::quint4x2;
using quint2x4 = ::torch::executor::quint2x4;
using IntArrayRef = ::torch::executor::IntArrayRef;
template <typename T>
using OptionalArrayRef = std::optional<::torch::executor::ArrayRef<T>>;
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

using ::torch::executor::compute_numel;
using ::torch::executor::safe_numel;

}  // namespace aten
}  // namespace executorch
