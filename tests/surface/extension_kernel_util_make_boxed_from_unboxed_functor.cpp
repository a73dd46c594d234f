// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>

#include "signatures.h"

#if !defined(ET_CONCATENATE_IMPL) || !defined(ET_CONCATENATE) || !defined(ET_UID) || !defined(EXECUTORCH_LIBRARY)
#error "A macro of this header is missing."
#endif

namespace surface {

using namespace kernel_util_internal;  // NOLINT
using aten::Tensor;
inline Tensor& kernel(KernelRuntimeContext&, const Tensor&, std::optional<int64_t>, Tensor& out) {
  return out;
}
inline constexpr char kName[] = "kernel";
static_assert(!is_nonconst_tensor<const Tensor&>::value && is_nonconst_tensor<Tensor&>::value);
static_assert(count_nonconst_tensors<typelist<Tensor&, int, Tensor&>>::value == 1);
static_assert(std::is_same_v<decay_if_not_tensor<const int&>::type, int>);
static_assert(std::is_same_v<decay_if_not_tensor<const Tensor&>::type, const Tensor&>);
static_assert(is<int64_t (*)(EValue&)>(&evalue_to_arg<int64_t>::call));
static_assert(is<Tensor& (*)(EValue&)>(&evalue_to_arg<Tensor&>::call));
static_assert(is<const Tensor& (*)(EValue&)>(&evalue_to_arg<const Tensor&>::call));
static_assert(is<std::optional<double> (*)(EValue&)>(&evalue_to_arg<std::optional<double>>::call));
static_assert(is<aten::ArrayRef<std::optional<Tensor>> (*)(EValue&)>(
    &evalue_to_arg<aten::ArrayRef<std::optional<Tensor>>>::call));
using Functor = EXECUTORCH_FN_TYPE(kernel, kName);
using Wrapped = WrapUnboxedIntoFunctor<Functor>;
using Args = typelist<const Tensor&, std::optional<int64_t>, Tensor&>;
static_assert(std::is_same_v<Wrapped::ReturnType, Tensor&> && std::is_same_v<Wrapped::ContextRemovedArgsType, Args>);
static_assert(
    std::is_same_v<Wrapped::ArgsType, typelist<KernelRuntimeContext&, const Tensor&, std::optional<int64_t>, Tensor&>>);
static_assert(std::is_same_v<Wrapped::TrueType, decltype(kernel)> && Wrapped::first_arg_is_context);
static_assert(is<void (*)(KernelRuntimeContext&, Span<EValue*>)>(&Wrapped::call));
using CallFunctor = decltype(call_functor_with_args_from_stack<Functor, 1>(
    make<KernelRuntimeContext&>(), make<Span<EValue*>>(), std::make_index_sequence<3>(), make<Args*>()));
static_assert(is<Kernel (*)(const char*, Functor)>(&make_boxed_kernel<Functor>));
EXECUTORCH_LIBRARY(surface, "kernel.out", kernel);
[[maybe_unused]] constexpr int ET_CONCATENATE(number_, ET_UID) = 0;

}  // namespace surface
