// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/kernel/operator_registry.h>

#include "signatures.h"

#if !defined(ET_LOG_KERNEL_KEY) || !defined(ET_LOG_TENSOR_META)
#error "A macro of this header is missing."
#endif

namespace surface {

static_assert(std::is_same_v<decltype(TensorMeta::dtype_), aten::ScalarType>);
static_assert(std::is_same_v<decltype(TensorMeta::dim_order_), Span<aten::DimOrderType>>);
static_assert(std::is_constructible_v<TensorMeta>);
static_assert(std::is_constructible_v<TensorMeta, aten::ScalarType, Span<aten::DimOrderType>>);
static_assert(is<bool (TensorMeta::*)(const TensorMeta&) const>(&TensorMeta::operator==));
static_assert(is<bool (TensorMeta::*)(const TensorMeta&) const>(&TensorMeta::operator!=));
static_assert(is<bool (TensorMeta::*)(const TensorMeta&) const>(&TensorMeta::equals));
static_assert(std::is_constructible_v<KernelKey>);
static_assert(std::is_constructible_v<KernelKey, const char*>);
static_assert(is<bool (KernelKey::*)(const KernelKey&) const>(&KernelKey::operator==));
static_assert(is<bool (KernelKey::*)(const KernelKey&) const>(&KernelKey::operator!=));
static_assert(is<bool (KernelKey::*)(const KernelKey&) const>(&KernelKey::equals));
static_assert(is<bool (KernelKey::*)() const>(&KernelKey::is_fallback));
static_assert(is<const char* (KernelKey::*)() const>(&KernelKey::data));
static_assert(std::is_same_v<decltype(Kernel::name_), const char*>);
static_assert(std::is_same_v<decltype(Kernel::kernel_key_), KernelKey>);
static_assert(std::is_same_v<decltype(Kernel::op_), OpFunction>);
static_assert(std::is_constructible_v<Kernel, const char*, OpFunction>);
static_assert(std::is_constructible_v<Kernel, const char*, KernelKey, OpFunction>);
static_assert(std::is_constructible_v<Kernel>);
static_assert(is<bool (*)(const char*, Span<const TensorMeta>)>(&registry_has_op_function));
using registry_has_op_function_default = decltype(registry_has_op_function(make<const char*>()));
static_assert(is<Result<OpFunction> (*)(const char*, Span<const TensorMeta>)>(&get_op_function_from_registry));
using get_op_function_from_registry_default = decltype(get_op_function_from_registry(make<const char*>()));
static_assert(is<Result<OpFunction> (*)(const char*, Span<const TensorMeta>, Span<const Kernel>)>(
    &get_op_function_from_registry));
static_assert(is<Span<const Kernel> (*)()>(&get_registered_kernels));
static_assert(is<Error (*)(const Span<const Kernel>)>(&register_kernels));
static_assert(is<Error (*)(const Kernel&)>(&register_kernel));
static_assert(is<OpFunction (*)(const char*, ArrayRef<TensorMeta>)>(&::torch::executor::getOpsFn));
using getOpsFn_default = decltype(::torch::executor::getOpsFn(make<const char*>()));
static_assert(is<bool (*)(const char*, ArrayRef<TensorMeta>)>(&::torch::executor::hasOpsFn));
using hasOpsFn_default = decltype(::torch::executor::hasOpsFn(make<const char*>()));
static_assert(is<ArrayRef<Kernel> (*)()>(&::torch::executor::get_kernels));
static_assert(std::is_same_v<OpFunction, void (*)(KernelRuntimeContext&, Span<EValue*>)>);
static_assert(is<Error (*)(ArrayRef<Kernel>)>(&::torch::executor::register_kernels));
static_assert(std::is_same_v<::torch::executor::KernelRuntimeContext, KernelRuntimeContext>);

}  // namespace surface
