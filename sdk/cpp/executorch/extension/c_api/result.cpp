// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/c_api/result.h>

#include <executorch/runtime/platform/log.h>

using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Tag;

static_assert(sizeof(bool) == sizeof(uint8_t), "lists of bools are read as bytes");

et_result::et_result(std::shared_ptr<executorch::extension::c_api::ModuleState> state,
                     executorch::extension::c_api::MethodSlot& slot,
                     std::vector<executorch::extension::c_api::InputMemory> inputs)
    : held_(new Held{{std::move(state), slot}, {}}), inputs_(std::move(inputs)) {}

const et_tensor* et_result::add_tensor(const executorch::aten::Tensor& tensor) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  for (const auto& input : inputs_) {
    const auto start = reinterpret_cast<uintptr_t>(input.data);
    if (address >= start && address - start < input.size) {
      held_->inputs.push_back(input.owner);
    }
  }
  tensors_.push_back(et_tensor{nullptr, tensor, held_});
  return &tensors_.back();
}

Error et_result::add(const EValue& output) {
  et_value value = {};
  value.tag = static_cast<et_tag>(output.tag);
  const auto span = [&](const auto& list) { value.payload.as_span = et_span{list.data(), list.size()}; };
  switch (output.tag) {
    case Tag::None:
      break;
    case Tag::Int:
      value.payload.as_int = output.toInt();
      break;
    case Tag::Double:
      value.payload.as_double = output.toDouble();
      break;
    case Tag::Bool:
      value.payload.as_bool = output.toBool() ? 1 : 0;
      break;
    case Tag::Tensor:
      value.payload.as_tensor = add_tensor(output.toTensor());
      break;
    case Tag::String:
      span(output.toString());
      break;
    case Tag::ListInt:
      span(output.toIntList());
      break;
    case Tag::ListDouble:
      span(output.toDoubleList());
      break;
    case Tag::ListBool:
      span(output.toBoolList());
      break;
    case Tag::ListTensor:
      lists_.emplace_back();
      for (const auto& tensor : output.toTensorList()) {
        lists_.back().push_back(add_tensor(tensor));
      }
      span(lists_.back());
      break;
    case Tag::ListOptionalTensor:
      lists_.emplace_back();
      for (const auto& tensor : output.toListOptionalTensor()) {
        lists_.back().push_back(tensor.has_value() ? add_tensor(*tensor) : nullptr);
      }
      span(lists_.back());
      break;
    default:
      ET_LOG(Error, "output %zu is of type %s, which the C interface cannot give", values_.size(),
             tag_to_string(output.tag));
      return Error::NotSupported;
  }
  values_.push_back(value);
  return Error::Ok;
}

size_t et_result_size(const et_result* result) {
  return result != nullptr ? result->values().size() : 0;
}

const et_value* et_result_values(const et_result* result) {
  return result != nullptr && !result->values().empty() ? result->values().data() : nullptr;
}

void et_result_free(et_result* result) {
  delete result;
}
