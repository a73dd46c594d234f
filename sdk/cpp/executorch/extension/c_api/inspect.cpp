// SPDX-License-Identifier: BSD-3-Clause
// Describes programs, and the operators and backends of this build.
#include <executorch/extension/c_api/call.h>
#include <executorch/extension/c_api/module_state.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/tag.h>
#include <executorch/runtime/kernel/operator_registry.h>

using executorch::extension::c_api::call;
using executorch::extension::c_api::call_for;
using executorch::extension::c_api::initialize;
using executorch::runtime::Error;
using executorch::runtime::Result;
using executorch::runtime::Tag;
using executorch::runtime::TensorInfo;

namespace {

Error describe(const Result<Tag>& tag, const Result<TensorInfo>& tensor, et_value_info* out) {
  if (!tag.ok()) {
    return tag.error();
  }
  out->tag = static_cast<et_tag>(tag.get());
  if (tag.get() != Tag::Tensor) {
    return Error::Ok;
  }
  if (!tensor.ok()) {
    return tensor.error();
  }
  out->dtype = static_cast<et_dtype>(tensor->scalar_type());
  out->rank = tensor->sizes().size();
  out->sizes = tensor->sizes().data();
  out->dim_order = tensor->dim_order().data();
  out->nbytes = tensor->nbytes();
  out->is_memory_planned = tensor->is_memory_planned() ? 1 : 0;
  return Error::Ok;
}

}  // namespace

const char* et_tag_name(et_tag tag) {
  return tag >= 0 ? executorch::runtime::tag_to_string(static_cast<Tag>(tag)) : "Unknown";
}

size_t et_operator_count(void) {
  initialize();
  return executorch::runtime::get_registered_kernels().size();
}

const char* et_operator_name(size_t index) {
  initialize();
  const auto kernels = executorch::runtime::get_registered_kernels();
  return index < kernels.size() ? kernels[index].name_ : nullptr;
}

size_t et_backend_count(void) {
  initialize();
  return executorch::runtime::get_num_registered_backends();
}

const char* et_backend_name(size_t index) {
  initialize();
  if (index >= executorch::runtime::get_num_registered_backends()) {
    return nullptr;
  }
  const auto name = executorch::runtime::get_backend_name(index);
  return name.ok() ? name.get() : nullptr;
}

size_t et_module_method_count(const et_module* module) {
  return module != nullptr ? module->state->methods.size() : 0;
}

const et_method_meta* et_module_method_at(const et_module* module, size_t index) {
  return module != nullptr && index < module->state->methods.size() ? &module->state->methods[index].meta : nullptr;
}

et_status et_module_method(const et_module* module, const char* method, const et_method_meta** out, et_error** error) {
  return call_for(out, error, [&]() -> Error {
    ET_CHECK_NOT_NULL(module);
    const auto slot = module->state->method(method);
    if (!slot.ok()) {
      return slot.error();
    }
    *out = &slot.get()->meta;
    return Error::Ok;
  });
}

const char* et_method_meta_name(const et_method_meta* meta) {
  return meta != nullptr ? meta->meta.name() : nullptr;
}

size_t et_method_meta_input_count(const et_method_meta* meta) {
  return meta != nullptr ? meta->meta.num_inputs() : 0;
}

size_t et_method_meta_output_count(const et_method_meta* meta) {
  return meta != nullptr ? meta->meta.num_outputs() : 0;
}

et_status et_method_meta_input(const et_method_meta* meta, size_t index, et_value_info* out, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(out);
    *out = et_value_info{};
    ET_CHECK_NOT_NULL(meta);
    const auto tag = meta->meta.input_tag(index);
    const bool is_tensor = tag.ok() && tag.get() == Tag::Tensor;
    return describe(tag, is_tensor ? meta->meta.input_tensor_meta(index) : Error::InvalidType, out);
  });
}

et_status et_method_meta_output(const et_method_meta* meta, size_t index, et_value_info* out, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(out);
    *out = et_value_info{};
    ET_CHECK_NOT_NULL(meta);
    const auto tag = meta->meta.output_tag(index);
    const bool is_tensor = tag.ok() && tag.get() == Tag::Tensor;
    return describe(tag, is_tensor ? meta->meta.output_tensor_meta(index) : Error::InvalidType, out);
  });
}

size_t et_method_meta_backend_count(const et_method_meta* meta) {
  return meta != nullptr ? meta->meta.num_backends() : 0;
}

const char* et_method_meta_backend(const et_method_meta* meta, size_t index) {
  if (meta == nullptr || index >= meta->meta.num_backends()) {
    return nullptr;
  }
  const auto name = meta->meta.get_backend_name(index);
  return name.ok() ? name.get() : nullptr;
}

uint64_t et_method_meta_planned_bytes(const et_method_meta* meta) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < et_method_meta_planned_buffer_count(meta); ++i) {
    bytes += et_method_meta_planned_buffer_bytes(meta, i);
  }
  return bytes;
}

size_t et_method_meta_planned_buffer_count(const et_method_meta* meta) {
  return meta != nullptr ? meta->meta.num_memory_planned_buffers() : 0;
}

uint64_t et_method_meta_planned_buffer_bytes(const et_method_meta* meta, size_t index) {
  if (index >= et_method_meta_planned_buffer_count(meta)) {
    return 0;
  }
  const auto size = meta->meta.memory_planned_buffer_size(index);
  return size.ok() ? static_cast<uint64_t>(size.get()) : 0;
}

size_t et_method_meta_instruction_count(const et_method_meta* meta) {
  return meta != nullptr ? meta->meta.num_instructions() : 0;
}

size_t et_method_meta_attribute_count(const et_method_meta* meta) {
  return meta != nullptr ? meta->meta.num_attributes() : 0;
}

et_status et_method_meta_attribute(const et_method_meta* meta, size_t index, et_value_info* out, et_error** error) {
  return call(error, [&]() -> Error {
    ET_CHECK_NOT_NULL(out);
    *out = et_value_info{};
    ET_CHECK_NOT_NULL(meta);
    return describe(Tag::Tensor, meta->meta.attribute_tensor_meta(index), out);
  });
}

const char* et_method_meta_attribute_name(const et_method_meta* meta, size_t index) {
  if (index >= et_method_meta_attribute_count(meta)) {
    return nullptr;
  }
  const auto info = meta->meta.attribute_tensor_meta(index);
  // The file keeps a zero after each of its strings.
  return info.ok() ? info->name().data() : nullptr;
}
