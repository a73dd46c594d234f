// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/method_meta.h>

#include "signatures.h"

namespace surface {

static_assert(std::is_constructible_v<TensorInfo, const TensorInfo&>);
static_assert(std::is_constructible_v<TensorInfo, TensorInfo&&>);
static_assert(is<TensorInfo& (TensorInfo::*)(const TensorInfo&)>(&TensorInfo::operator=));
static_assert(is<TensorInfo& (TensorInfo::*)(TensorInfo&&)>(&TensorInfo::operator=));
static_assert(std::is_destructible_v<TensorInfo>);
static_assert(is<Span<const int32_t> (TensorInfo::*)() const>(&TensorInfo::sizes));
static_assert(is<Span<const uint8_t> (TensorInfo::*)() const>(&TensorInfo::dim_order));
static_assert(is<aten::ScalarType (TensorInfo::*)() const>(&TensorInfo::scalar_type));
static_assert(is<bool (TensorInfo::*)() const>(&TensorInfo::is_memory_planned));
static_assert(is<size_t (TensorInfo::*)() const>(&TensorInfo::nbytes));
static_assert(is<std::string_view (TensorInfo::*)() const>(&TensorInfo::name));
static_assert(std::is_constructible_v<MethodMeta, const MethodMeta&>);
static_assert(std::is_constructible_v<MethodMeta, MethodMeta&&>);
static_assert(is<MethodMeta& (MethodMeta::*)(const MethodMeta&)>(&MethodMeta::operator=));
static_assert(is<MethodMeta& (MethodMeta::*)(MethodMeta&&)>(&MethodMeta::operator=));
static_assert(std::is_destructible_v<MethodMeta>);
static_assert(is<const char* (MethodMeta::*)() const>(&MethodMeta::name));
static_assert(is<size_t (MethodMeta::*)() const>(&MethodMeta::num_inputs));
static_assert(is<Result<Tag> (MethodMeta::*)(size_t) const>(&MethodMeta::input_tag));
static_assert(is<Result<TensorInfo> (MethodMeta::*)(size_t) const>(&MethodMeta::input_tensor_meta));
static_assert(is<size_t (MethodMeta::*)() const>(&MethodMeta::num_outputs));
static_assert(is<Result<Tag> (MethodMeta::*)(size_t) const>(&MethodMeta::output_tag));
static_assert(is<Result<TensorInfo> (MethodMeta::*)(size_t) const>(&MethodMeta::output_tensor_meta));
static_assert(is<size_t (MethodMeta::*)() const>(&MethodMeta::num_attributes));
static_assert(is<Result<TensorInfo> (MethodMeta::*)(size_t) const>(&MethodMeta::attribute_tensor_meta));
static_assert(is<size_t (MethodMeta::*)() const>(&MethodMeta::num_memory_planned_buffers));
static_assert(is<Result<int64_t> (MethodMeta::*)(size_t) const>(&MethodMeta::memory_planned_buffer_size));
static_assert(is<Result<etensor::Device> (MethodMeta::*)(size_t) const>(&MethodMeta::memory_planned_buffer_device));
static_assert(is<bool (MethodMeta::*)(const char*) const>(&MethodMeta::uses_backend));
static_assert(is<size_t (MethodMeta::*)() const>(&MethodMeta::num_backends));
static_assert(is<Result<const char*> (MethodMeta::*)(size_t) const>(&MethodMeta::get_backend_name));
static_assert(is<size_t (MethodMeta::*)() const>(&MethodMeta::num_instructions));
static_assert(is<size_t (MethodMeta::*)() const>(&MethodMeta::num_non_const_buffers));
static_assert(is<Result<int64_t> (MethodMeta::*)(size_t) const>(&MethodMeta::non_const_buffer_size));

}  // namespace surface
