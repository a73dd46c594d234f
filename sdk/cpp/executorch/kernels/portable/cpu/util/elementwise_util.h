// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Functions of the elements of one to three operands, which are broadcast and may have any dtype, for custom kernels.
 * `CTYPE` is the parameter and result type of the function; `op_name`, a static array of characters, is named in log
 * lines:
 *
 *     static constexpr const char op_name[] = "my_ops::mul.out";
 *     apply_bitensor_elementwise_fn<float, op_name, SupportedTensorDtypes::FLOATHBF16>(
 *         [](const auto a, const auto b) { return a * b; }, ctx, a, SupportedTensorDtypes::REALHBBF16, b,
 *         SupportedTensorDtypes::REALHBBF16, out);
 *
 * `out` has the shape that the operands are broadcast to. If an operand or `out` has a dtype that it may not have, or
 * an operand cannot be broadcast, the kernel fails with InvalidArgument.
 */
#pragma once

#include <cstddef>
#include <utility>

#include <executorch/kernels/portable/cpu/scalar_utils.h>
#include <executorch/kernels/portable/cpu/util/broadcast_util.h>
#include <executorch/kernels/portable/cpu/util/dtype_util.h>

namespace torch {
namespace executor {
namespace native {
namespace utils {
namespace internal {

struct Operand {
  const ::executorch::aten::Tensor& tensor;
  SupportedTensorDtypes dtypes;
};

/// Whether elements with equal indices have equal positions in memory.
inline bool has_layout_of(const ::executorch::aten::Tensor& a, const ::executorch::aten::Tensor& out) {
  return a.sizes() == out.sizes() && a.strides() == out.strides();
}

template <typename CTYPE, const char* op_name, typename Op, size_t... I>
void apply_elementwise_fn(const Op& compute_fun, KernelRuntimeContext& ctx, const Operand (&operands)[sizeof...(I)],
                          const ::executorch::aten::Tensor& out, SupportedTensorDtypes out_dtypes,
                          std::index_sequence<I...> /*numbers*/) {
  constexpr auto compute_type = ::executorch::runtime::CppTypeToScalarType<CTYPE>::value;
  for (const auto& operand : operands) {
    ET_KERNEL_CHECK(ctx,
                    check_tensor_dtype(operand.tensor, operand.dtypes, compute_type) &&
                        tensor_is_broadcastable_to(operand.tensor, out),
                    InvalidArgument, );
  }
  ET_KERNEL_CHECK(ctx, check_tensor_dtype(out, out_dtypes, compute_type), InvalidArgument, );
  const load_fn<CTYPE> load[] = {get_load_fn<CTYPE, op_name>(ctx, operands[I].tensor.scalar_type())...};
  const auto store = get_store_fn<CTYPE, op_name>(ctx, out.scalar_type());
  const char* const data[] = {static_cast<const char*>(operands[I].tensor.const_data_ptr())...};
  const size_t width[] = {static_cast<size_t>(operands[I].tensor.element_size())...};
  auto* const data_out = static_cast<char*>(out.mutable_data_ptr());
  const auto width_out = static_cast<size_t>(out.element_size());

  if ((has_layout_of(operands[I].tensor, out) && ...)) {
    const auto count = static_cast<size_t>(out.numel());
    for (size_t i = 0; i < count; ++i) {
      store(static_cast<CTYPE>(compute_fun(load[I](data[I] + i * width[I])...)), data_out + i * width_out);
    }
    return;
  }
  apply_over_indexes(out, [&](::executorch::aten::ArrayRef<size_t> indexes) {
    const auto position = [&](const ::executorch::aten::Tensor& t) {
      return linearize_access_indexes(indexes, out.dim(), t);
    };
    store(static_cast<CTYPE>(compute_fun(load[I](data[I] + position(operands[I].tensor) * width[I])...)),
          data_out + position(out) * width_out);
  });
}

}  // namespace internal

/// `out` = compute_fun(a) of each element.
template <typename CTYPE, const char* op_name, typename Op>
void apply_unitensor_elementwise_fn(const Op& compute_fun, KernelRuntimeContext& ctx,
                                    const ::executorch::aten::Tensor& a, SupportedTensorDtypes a_dtypes,
                                    const ::executorch::aten::Tensor& out, SupportedTensorDtypes out_dtypes) {
  internal::apply_elementwise_fn<CTYPE, op_name>(compute_fun, ctx, {{a, a_dtypes}}, out, out_dtypes,
                                                 std::make_index_sequence<1>());
}

/// `out` = compute_fun(a, b) of each element.
template <typename CTYPE, const char* op_name, typename Op>
void apply_bitensor_elementwise_fn(const Op& compute_fun, KernelRuntimeContext& ctx,
                                   const ::executorch::aten::Tensor& a, SupportedTensorDtypes a_dtypes,
                                   const ::executorch::aten::Tensor& b, SupportedTensorDtypes b_dtypes,
                                   const ::executorch::aten::Tensor& out, SupportedTensorDtypes out_dtypes) {
  internal::apply_elementwise_fn<CTYPE, op_name>(compute_fun, ctx, {{a, a_dtypes}, {b, b_dtypes}}, out, out_dtypes,
                                                 std::make_index_sequence<2>());
}

/// `out` = compute_fun(a, b, c) of each element.
template <typename CTYPE, const char* op_name, typename Op>
void apply_tritensor_elementwise_fn(const Op& compute_fun, KernelRuntimeContext& ctx,
                                    const ::executorch::aten::Tensor& a, SupportedTensorDtypes a_dtypes,
                                    const ::executorch::aten::Tensor& b, SupportedTensorDtypes b_dtypes,
                                    const ::executorch::aten::Tensor& c, SupportedTensorDtypes c_dtypes,
                                    const ::executorch::aten::Tensor& out, SupportedTensorDtypes out_dtypes) {
  internal::apply_elementwise_fn<CTYPE, op_name>(compute_fun, ctx, {{a, a_dtypes}, {b, b_dtypes}, {c, c_dtypes}}, out,
                                                 out_dtypes, std::make_index_sequence<3>());
}

// The same, with the dtypes of `out` among the template's arguments.

template <typename CTYPE, const char* op_name, SupportedTensorDtypes out_dtypes, typename Op>
void apply_unitensor_elementwise_fn(const Op& compute_fun, KernelRuntimeContext& ctx,
                                    const ::executorch::aten::Tensor& a, SupportedTensorDtypes a_dtypes,
                                    const ::executorch::aten::Tensor& out) {
  apply_unitensor_elementwise_fn<CTYPE, op_name>(compute_fun, ctx, a, a_dtypes, out, out_dtypes);
}

template <typename CTYPE, const char* op_name, SupportedTensorDtypes out_dtypes, typename Op>
void apply_bitensor_elementwise_fn(const Op& compute_fun, KernelRuntimeContext& ctx,
                                   const ::executorch::aten::Tensor& a, SupportedTensorDtypes a_dtypes,
                                   const ::executorch::aten::Tensor& b, SupportedTensorDtypes b_dtypes,
                                   const ::executorch::aten::Tensor& out) {
  apply_bitensor_elementwise_fn<CTYPE, op_name>(compute_fun, ctx, a, a_dtypes, b, b_dtypes, out, out_dtypes);
}

template <typename CTYPE, const char* op_name, SupportedTensorDtypes out_dtypes, typename Op>
void apply_tritensor_elementwise_fn(const Op& compute_fun, KernelRuntimeContext& ctx,
                                    const ::executorch::aten::Tensor& a, SupportedTensorDtypes a_dtypes,
                                    const ::executorch::aten::Tensor& b, SupportedTensorDtypes b_dtypes,
                                    const ::executorch::aten::Tensor& c, SupportedTensorDtypes c_dtypes,
                                    const ::executorch::aten::Tensor& out) {
  apply_tritensor_elementwise_fn<CTYPE, op_name>(compute_fun, ctx, a, a_dtypes, b, b_dtypes, c, c_dtypes, out,
                                                 out_dtypes);
}

/// The dtype to compute in: Float for float16 and bfloat16, otherwise the common dtype of the operands.
inline ::executorch::aten::ScalarType get_compute_type(::executorch::aten::ScalarType common_type) {
  using ::executorch::aten::ScalarType;
  return common_type == ScalarType::Half || common_type == ScalarType::BFloat16 ? ScalarType::Float : common_type;
}

}  // namespace utils
}  // namespace native
}  // namespace executor
}  // namespace torch
