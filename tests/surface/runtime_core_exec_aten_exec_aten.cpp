// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <optional>
#include <string_view>

#include "signatures.h"

#if !defined(ET_RUNTIME_NAMESPACE) || !defined(ET_PRI_TENSOR_SIZE) || !defined(ET_PRI_TENSOR_DIM) || \
    !defined(ET_PRI_TENSOR_NUMEL) || !defined(ET_PRI_SIZES_AND_STRIDES)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(std::is_same_v<aten::TensorShapeDynamism, TensorShapeDynamism>);
static_assert(std::is_same_v<aten::Tensor, etensor::Tensor> && std::is_same_v<aten::Tensor, ::torch::executor::Tensor>);
static_assert(std::is_same_v<aten::TensorImpl, ::torch::executor::TensorImpl> &&
              std::is_same_v<aten::Scalar, ::torch::executor::Scalar>);
static_assert(std::is_same_v<aten::ArrayRef<int>, ArrayRef<int>> &&
              std::is_same_v<aten::TensorList, ArrayRef<aten::Tensor>>);
static_assert(std::is_same_v<aten::ScalarType, ::torch::executor::ScalarType> &&
              std::is_same_v<aten::MemoryFormat, ::torch::executor::MemoryFormat>);
static_assert(std::is_same_v<aten::SizesType, int32_t> && std::is_same_v<aten::StridesType, int32_t> &&
              std::is_same_v<aten::DimOrderType, uint8_t>);
static_assert(std::is_same_v<aten::Device, ::torch::executor::Device> &&
              std::is_same_v<aten::DeviceType, ::torch::executor::DeviceType>);
static_assert(std::is_same_v<aten::Layout, ::torch::executor::Layout> &&
              std::is_same_v<aten::Half, ::torch::executor::Half>);
static_assert(std::is_same_v<aten::complex<float>, ::torch::executor::complex<float>> &&
              std::is_same_v<aten::BFloat16, ::torch::executor::BFloat16>);
static_assert(std::is_same_v<aten::qint8, ::torch::executor::qint8> &&
              std::is_same_v<aten::quint8, ::torch::executor::quint8>);
static_assert(std::is_same_v<aten::qint32, ::torch::executor::qint32> &&
              std::is_same_v<aten::quint4x2, ::torch::executor::quint4x2>);
static_assert(std::is_same_v<aten::quint2x4, ::torch::executor::quint2x4> &&
              std::is_same_v<aten::IntArrayRef, ::torch::executor::IntArrayRef>);
static_assert(std::is_same_v<aten::OptionalArrayRef<int>, std::optional<ArrayRef<int>>>);
static_assert(std::is_same_v<aten::OptionalIntArrayRef, std::optional<ArrayRef<int64_t>>>);
static_assert(std::is_same_v<aten::optional<int>, std::optional<int>> &&
              std::is_same_v<aten::string_view, std::string_view>);
static_assert(std::is_same_v<aten::nullopt_t, std::nullopt_t>);
static_assert(is<ssize_t (*)(const int32_t*, ssize_t)>(&aten::compute_numel));
static_assert(is<Result<ssize_t> (*)(const int32_t*, ssize_t)>(&aten::safe_numel));
static_assert(std::is_same_v<::torch::executor::TensorList, aten::TensorList>);
namespace namespace_macro = ::executorch::ET_RUNTIME_NAMESPACE;

}  // namespace surface
