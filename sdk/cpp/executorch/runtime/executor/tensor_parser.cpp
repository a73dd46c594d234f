// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/tensor_parser.h>

#include <cstring>
#include <new>

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/same_text.h>
#include <executorch/runtime/executor/make_tensor.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/runtime/executor/program_validation.h>

namespace executorch {
namespace runtime {
namespace deserialization {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using ::executorch::runtime::internal::size_of;

namespace {

bool is_external(const executorch_flatbuffer::Tensor& tensor) {
  return tensor.extra_tensor_info() != nullptr &&
         tensor.extra_tensor_info()->location() == executorch_flatbuffer::TensorDataLocation::EXTERNAL;
}

/// Kernels read elements in place, so data must start at a multiple of the element's size.
Error check_alignment(const void* data, ScalarType type, const char* what) {
  const size_t alignment =
      elementSize(type) > alignof(std::max_align_t) ? alignof(std::max_align_t) : elementSize(type);
  ET_CHECK_OR_RETURN_ERROR(
      reinterpret_cast<uintptr_t>(data) % alignment == 0, InvalidArgument,
      "The %s of a tensor of dtype %s is at address %p, no multiple of %zu: align the buffer it is in to 16 bytes",
      what, toString(type), data, alignment);
  return Error::Ok;
}

Result<void*> planned_data(const executorch_flatbuffer::AllocationDetails& allocation, size_t nbytes,
                           HierarchicalAllocator* allocator) {
  ET_CHECK_OR_RETURN_ERROR(
      allocator != nullptr, InvalidState,
      "The method needs planned memory, but the MemoryManager has none: see MethodMeta::num_memory_planned_buffers");
  const uint64_t offset = allocation.memory_offset_low() | static_cast<uint64_t>(allocation.memory_offset_high()) << 32;
  ET_CHECK_PROGRAM(allocation.memory_id() > 0 && offset <= SIZE_MAX,
                   "A tensor is at byte %" PRIu64 " of planned buffer %" PRIu32, offset, allocation.memory_id());
  const uint32_t index = allocation.memory_id() - 1;
  const auto address = allocator->get_offset_address(index, static_cast<size_t>(offset), nbytes);
  if (!address.ok()) {
    return Error::MemoryAllocationFailed;  // the allocator has logged the buffer and its size
  }
  return *address;
}

}  // namespace

NamedData* get_data_by_key(const char* key, Span<NamedData> entries) {
  for (auto& entry : entries) {
    if (::executorch::runtime::internal::same_text(entry.key, key)) {
      return &entry;
    }
  }
  return nullptr;
}

const executorch_flatbuffer::Tensor* as_attribute(const executorch_flatbuffer::EValue& value) {
  const auto* tensor = value.val_as_Tensor();
  const auto* extra = tensor == nullptr ? nullptr : tensor->extra_tensor_info();
  if (extra == nullptr || extra->fully_qualified_name() == nullptr) {
    return nullptr;
  }
  // Constants may have names, too. They have data in the file and no planned memory, and must not be written to.
  const bool has_constant_data =
      tensor->data_buffer_idx() != 0 || extra->location() == executorch_flatbuffer::TensorDataLocation::EXTERNAL;
  return tensor->allocation_info() == nullptr && has_constant_data ? nullptr : tensor;
}

Error validateTensorLayout(const executorch_flatbuffer::Tensor* s_tensor, const TensorLayout& expected_layout) {
  const auto* extra = s_tensor->extra_tensor_info();
  const char* name =
      extra == nullptr || extra->fully_qualified_name() == nullptr ? "" : extra->fully_qualified_name()->c_str();
  const auto expected_type = static_cast<ScalarType>(s_tensor->scalar_type());
  ET_CHECK_OR_RETURN_ERROR(expected_layout.scalar_type() == expected_type, InvalidExternalData,
                           "'%s' has dtype %s in the external data, the program expects %s", name,
                           toString(expected_layout.scalar_type()), toString(expected_type));
  const uint32_t dim = size_of(s_tensor->sizes());
  ET_CHECK_OR_RETURN_ERROR(expected_layout.sizes().size() == dim && expected_layout.dim_order().size() == dim,
                           InvalidExternalData,
                           "'%s' has %zu dimensions in the external data, the program expects %" PRIu32, name,
                           expected_layout.sizes().size(), dim);
  for (uint32_t i = 0; i < dim; ++i) {
    ET_CHECK_OR_RETURN_ERROR(expected_layout.sizes()[i] == s_tensor->sizes()->Get(i), InvalidExternalData,
                             "'%s' has size %" PRId32 " in dimension %" PRIu32
                             " of the external data, the program expects %" PRId32,
                             name, expected_layout.sizes()[i], i, s_tensor->sizes()->Get(i));
    ET_CHECK_OR_RETURN_ERROR(
        expected_layout.dim_order()[i] == s_tensor->dim_order()->Get(i), InvalidExternalData,
        "'%s' has %u as entry %" PRIu32 " of its dim order in the external data, the program expects %u", name,
        static_cast<unsigned>(expected_layout.dim_order()[i]), i, static_cast<unsigned>(s_tensor->dim_order()->Get(i)));
  }
  return Error::Ok;
}

Error check_external_tensor(const executorch_flatbuffer::Tensor& tensor, const NamedDataMap* external_data) {
  const auto& name = *tensor.extra_tensor_info()->fully_qualified_name();
  ET_CHECK_OR_RETURN_ERROR(external_data != nullptr, InvalidExternalData,
                           "The program expects '%s' in another file: load it together with its .ptd", name.c_str());
  const auto layout = external_data->get_tensor_layout(name.string_view());
  ET_CHECK_OK_OR_RETURN_ERROR(layout.error(),
                              "The external data has no '%s', which the program needs: is it the .ptd of this program?",
                              name.c_str());
  return validateTensorLayout(&tensor, *layout);
}

Result<void*> getTensorDataPtr(const executorch_flatbuffer::Tensor* s_tensor, const Program* program, size_t nbytes,
                               HierarchicalAllocator* allocator, const NamedDataMap* named_data_map,
                               Span<NamedData> external_constants) {
  const auto* allocation = s_tensor->allocation_info();
  const auto* extra = s_tensor->extra_tensor_info();
  const auto type = static_cast<ScalarType>(s_tensor->scalar_type());
  const void* fixed = nullptr;
  if (allocation != nullptr) {
    ET_ASSIGN_OR_RETURN(data, planned_data(*allocation, nbytes, allocator));
    ET_CHECK_OK_OR_RETURN_ERROR(check_alignment(data, type, "planned memory"));
    const bool is_mutable_buffer = extra != nullptr && extra->fully_qualified_name() != nullptr;
    // The host cannot write to a device's memory.
    ET_CHECK_OR_RETURN_ERROR(
        extra == nullptr || extra->device_type() == executorch_flatbuffer::DeviceType::CPU ||
            !(is_mutable_buffer || s_tensor->data_buffer_idx() > 0),
        NotSupported, "The mutable buffer '%s' is in memory of device type %d, which cannot be initialized",
        is_mutable_buffer ? extra->fully_qualified_name()->c_str() : "", static_cast<int>(extra->device_type()));
    if (allocator->is_kept(allocation->memory_id() - 1)) {
      return data;
    }
    if (is_external(*s_tensor)) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_external_tensor(*s_tensor, named_data_map));
      ET_CHECK_OK_OR_RETURN_ERROR(
          named_data_map->load_data_into(extra->fully_qualified_name()->string_view(), data, nbytes));
    } else if (s_tensor->data_buffer_idx() > 0) {
      const size_t segment = extra == nullptr ? 0 : static_cast<size_t>(extra->mutable_data_segments_idx());
      ET_CHECK_OK_OR_RETURN_ERROR(
          program->load_mutable_subsegment_into(segment, s_tensor->data_buffer_idx(), nbytes, data));
    } else if (is_mutable_buffer && !allocator->is_zeroed() && nbytes > 0) {
      // A mutable buffer without an initial value starts with zeros.
      std::memset(data, 0, nbytes);
    }
    return data;
  }
  if (is_external(*s_tensor)) {
    const char* key = extra->fully_qualified_name()->c_str();
    NamedData* constant = get_data_by_key(key, external_constants);
    ET_CHECK_OR_RETURN_ERROR(constant != nullptr && constant->buffer.size() >= nbytes, InvalidExternalData,
                             "'%s' of the external data is absent or has fewer than %zu bytes", key, nbytes);
    fixed = constant->buffer.data();
  } else if (s_tensor->data_buffer_idx() > 0) {
    ET_ASSIGN_OR_RETURN(data, program->get_constant_buffer_data(s_tensor->data_buffer_idx(), nbytes));
    fixed = data;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(check_alignment(fixed, type, "data"));
  return const_cast<void*>(fixed);
}

Result<Tensor> parseTensor(const Program* program, MemoryManager* memory_manager,
                           const executorch_flatbuffer::Tensor* s_tensor, const NamedDataMap* named_data_map,
                           Span<NamedData> external_constants) {
  ET_ASSIGN_OR_RETURN(tensor, internal::make_tensor(*s_tensor, memory_manager->method_allocator()));
  const size_t nbytes = tensor.nbytes();
  ET_ASSIGN_OR_RETURN(data, getTensorDataPtr(s_tensor, program, nbytes, memory_manager->planned_memory(),
                                             named_data_map, external_constants));
  ::executorch::runtime::internal::set_data(tensor, data, nbytes);
  return tensor;
}

namespace internal {

Error refer_to_values(const flatbuffers::Vector<int32_t>& indices, Span<EValue> values, bool optional, EValue** items) {
  for (uint32_t i = 0; i < indices.size(); ++i) {
    const int32_t index = indices.Get(i);
    const bool is_value = index >= 0 && static_cast<size_t>(index) < values.size();
    ET_CHECK_PROGRAM(is_value || (optional && index == -1), "Item %" PRIu32 " of a list is value %" PRId32 " of %zu", i,
                     index, values.size());
    items[i] = is_value ? &values[static_cast<size_t>(index)] : nullptr;
  }
  return Error::Ok;
}

}  // namespace internal

Result<BoxedEvalueList<Tensor>> parseTensorList(const flatbuffers::Vector<int32_t>* tensor_indices, EValue* values,
                                                size_t values_len, MemoryManager* memory_manager) {
  ET_CHECK_PROGRAM(tensor_indices != nullptr, "A list has no items");
  const size_t count = tensor_indices->size();
  ET_ASSIGN_OR_RETURN(storage, internal::allocate_list<Tensor>(count, memory_manager));
  for (size_t i = 0; i < count; ++i) {
    // The list copies the tensors when it is read; until then, the items must be valid objects.
    new (&storage.unwrapped[i]) Tensor(nullptr);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(internal::refer_to_values(*tensor_indices, Span<EValue>(values, values_len),
                                                        /*optional=*/false, storage.wrapped));
  return BoxedEvalueList<Tensor>(storage.wrapped, storage.unwrapped, static_cast<int>(count));
}

}  // namespace deserialization
}  // namespace runtime
}  // namespace executorch
