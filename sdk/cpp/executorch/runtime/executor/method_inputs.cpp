// SPDX-License-Identifier: BSD-3-Clause
// Checking and setting the inputs of a method.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/dynamic_sizes.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {

using executorch::aten::DimOrderType;
using executorch::aten::Tensor;
using executorch_flatbuffer::KernelTypes;

namespace {

using Sizes = executorch::aten::ArrayRef<executorch::aten::SizesType>;
using DimOrder = executorch::aten::ArrayRef<DimOrderType>;

/// Whether two tensors of the same sizes have the same layout: their dimensions with more than one element must be in
/// the same order. If `a` is empty, it is contiguous; `b` is never empty.
bool is_same_order(Sizes sizes, DimOrder a, DimOrder b) {
  size_t j = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t dim = a.empty() ? i : a[i];
    if (sizes[dim] <= 1) {
      continue;
    }
    while (j < b.size() && sizes[b[j]] <= 1) {
      ++j;
    }
    if (j == b.size() || b[j++] != dim) {
      return false;
    }
  }
  return true;
}

/// Whether both have the same bits or are zeros. It compares bits, because boards may lack instructions for doubles.
bool is_same(double a, double b) {
  uint64_t a_bits = 0, b_bits = 0;
  std::memcpy(&a_bits, &a, sizeof(a));
  std::memcpy(&b_bits, &b, sizeof(b));
  const bool both_zero = ((a_bits | b_bits) << 1) == 0;
  return a_bits == b_bits || both_zero;
}

void log_fixed_input(const executorch_flatbuffer::EValue& value, size_t input_idx) {
  if constexpr (ET_LOG_ENABLED) {
    char text[32] = "";
    if (value.val_type() == KernelTypes::Int) {
      std::snprintf(text, sizeof(text), "%" PRId64, value.val_as_Int()->int_val());
    } else if (value.val_type() == KernelTypes::Double) {
      std::snprintf(text, sizeof(text), "%.17g", value.val_as_Double()->double_val());
    } else {
      std::snprintf(text, sizeof(text), "%s", value.val_as_Bool()->bool_val() ? "true" : "false");
    }
    ET_LOG(
        Error,
        "Input %zu has the value %s built in since the export and cannot be changed: export it as a tensor or with a "
        "dynamic value",
        input_idx, text);
  }
}

}  // namespace

Error Method::set_inputs(const executorch::aten::ArrayRef<EValue>& input_evalues) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(input_evalues.size() == inputs_size(), InvalidArgument,
                           "Method '%s' has %zu inputs, %zu were given", plan_->name()->c_str(), inputs_size(),
                           input_evalues.size());
  for (size_t i = 0; i < input_evalues.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(set_input(input_evalues[i], i));
  }
  return Error::Ok;
}

Error Method::set_input(const EValue& input_evalue, size_t input_idx) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(input_idx < inputs_size(), InvalidArgument,
                           "Input %zu was given, method '%s' has %zu inputs", input_idx, plan_->name()->c_str(),
                           inputs_size());
  ET_CHECK_OR_RETURN_ERROR(!internal::is_null_pointer(input_evalue), InvalidArgument,
                           "Input %zu is a null pointer: expected a value, or None", input_idx);
  const int32_t index = input_index(input_idx);
  const auto type = plan_->values()->Get(static_cast<uint32_t>(index))->val_type();
  if (type == KernelTypes::Tensor) {
    ET_CHECK_OR_RETURN_ERROR(input_evalue.isTensor(), InvalidArgument, "Input %zu must be a Tensor, found %s",
                             input_idx, tag_to_string(input_evalue.tag));
    ET_CHECK_OK_OR_RETURN_ERROR(set_tensor_input(input_evalue.toTensor(), input_idx));
  } else {
    ET_CHECK_OK_OR_RETURN_ERROR(check_scalar_input(input_evalue, input_idx));
    if (input_evalue.isScalar() || input_evalue.isNone()) {
      value_at(index) = input_evalue;
    }
  }
  input_set_[input_idx] = true;
  return Error::Ok;
}

Error Method::set_tensor_input(const Tensor& from, size_t input_idx) {
  const int32_t index = input_index(input_idx);
  const Tensor& to = value_at(index).toTensor();
  ET_CHECK_OR_RETURN_ERROR(from.scalar_type() == to.scalar_type(), InvalidArgument,
                           "Input %zu must have dtype %s, found %s", input_idx, toString(to.scalar_type()),
                           toString(from.scalar_type()));
  ET_CHECK_OR_RETURN_ERROR(internal::is_dense_on_cpu(from), InvalidArgument,
                           "Input %zu must be contiguous and on the CPU: copy it there", input_idx);
  ET_CHECK_OR_RETURN_ERROR(from.dim() == to.dim(), InvalidArgument, "Input %zu must have %zd dimensions, found %zd",
                           input_idx, static_cast<ssize_t>(to.dim()), static_cast<ssize_t>(from.dim()));
  const auto& serialized = *plan_->values()->Get(static_cast<uint32_t>(index))->val_as_Tensor();
  const bool planned = serialized.allocation_info() != nullptr;
  const bool has_data = from.const_data_ptr() != nullptr;
  // The host cannot write to a device's memory: such inputs are copied by an instruction, or used in place.
  ET_CHECK_OR_RETURN_ERROR(planned ? to.device().is_cpu() && from.device().is_cpu() : to.device() == from.device(),
                           InvalidArgument, "Input %zu is expected in %s of device type %d, found device type %d",
                           input_idx, planned ? "planned memory" : "memory", static_cast<int>(to.device().type()),
                           static_cast<int>(from.device().type()));
  ET_CHECK_OR_RETURN_ERROR(has_data || planned || from.numel() == 0, InvalidArgument,
                           "Input %zu is a tensor without data and has no planned memory", input_idx);
  const auto alignment = std::min<size_t>(static_cast<size_t>(to.element_size()), alignof(std::max_align_t));
  ET_CHECK_OR_RETURN_ERROR(planned || reinterpret_cast<uintptr_t>(from.const_data_ptr()) % alignment == 0,
                           InvalidArgument,
                           "Input %zu is used in place and must be at a multiple of %zu bytes, found %p", input_idx,
                           alignment, from.const_data_ptr());

  ET_CHECK_OK_OR_RETURN_ERROR(internal::check_input_sizes(*plan_, input_idx, to, from));
  const auto order = internal::dim_order_of(to);
  ET_CHECK_OR_RETURN_ERROR(
      from.numel() == 0 || is_same_order(from.sizes(), internal::dim_order_of(from), order), InvalidArgument,
      "Input %zu must be %s in memory, found another dim order: copy it to that order first", input_idx,
      is_contiguous_dim_order(order.data(), order.size())      ? "contiguous"
      : is_channels_last_dim_order(order.data(), order.size()) ? "channels last"
                                                               : "of the dim order it was exported with");
  ET_CHECK_OK_OR_RETURN_ERROR(internal::resize_onto(to, from.sizes(), planned ? to : from));
  if (!planned) {
    internal::share_data(to, from);
  } else if (has_data && from.nbytes() > 0 && from.const_data_ptr() != to.const_data_ptr()) {
    std::memmove(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
  }
  return Error::Ok;
}

/// A scalar that instructions use may change from call to call. One that no instruction uses was built into the program
/// when it was exported; another value would be ignored, so it is refused.
Error Method::check_scalar_input(const EValue& found, size_t input_idx) const {
  const int32_t index = input_index(input_idx);
  const auto& serialized = *plan_->values()->Get(static_cast<uint32_t>(index));
  const bool used = (value_flags_[index] & kUsed) != 0;
  Tag expected = Tag::None;
  bool same = true;
  switch (serialized.val_type()) {
    case KernelTypes::Null:
      // The input may be any scalar if instructions use it, and None if it was None at export and nothing uses it.
      ET_CHECK_OR_RETURN_ERROR(found.isScalar() || (!used && found.isNone()), InvalidArgument,
                               "Input %zu must be an Int, Double or Bool%s, found %s", input_idx,
                               used ? "" : ", or None", tag_to_string(found.tag));
      return Error::Ok;
    case KernelTypes::Int: {
      expected = Tag::Int;
      const int64_t fixed = serialized.val_as_Int()->int_val();
      same = found.isInt() && found.toInt() == fixed;
      break;
    }
    case KernelTypes::Double: {
      expected = Tag::Double;
      const double fixed = serialized.val_as_Double()->double_val();
      same = found.isDouble() && is_same(found.toDouble(), fixed);
      break;
    }
    case KernelTypes::Bool:
      expected = Tag::Bool;
      same = found.isBool() && found.toBool() == serialized.val_as_Bool()->bool_val();
      break;
    case KernelTypes::String: {
      const auto text = serialized.val_as_String()->string_val()->string_view();
      ET_CHECK_OR_RETURN_ERROR(found.isString() && found.toString() == text, InvalidArgument,
                               "Input %zu must be the String '%.*s' that the method was exported with", input_idx,
                               static_cast<int>(text.size()), text.data());
      return Error::Ok;
    }
    default:
      ET_LOG(Error, "Input %zu is a list (%s); inputs are tensors and scalars: give its items one by one", input_idx,
             executorch_flatbuffer::EnumNameKernelTypes(serialized.val_type()));
      return Error::InvalidArgument;
  }
  ET_CHECK_OR_RETURN_ERROR(found.tag == expected, InvalidArgument, "Input %zu must be of type %s, found %s", input_idx,
                           tag_to_string(expected), tag_to_string(found.tag));
  if (!used && !same) {
    log_fixed_input(serialized, input_idx);
    return Error::InvalidArgument;
  }
  return Error::Ok;
}

}  // namespace runtime
}  // namespace executorch
