// SPDX-License-Identifier: BSD-3-Clause
#include "delegate.h"

#include <cinttypes>
#include <cstring>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/extension/delegate/payload.h>
#include <executorch/runtime/platform/log.h>

#include "NeutronBackend.h"
#include "channels.h"

namespace executorch {
namespace backends {
namespace neutron {

using aten::Tensor;
using extension::delegate::check_count;
using extension::delegate::check_is_tensor;
using extension::delegate::is_aligned;
using runtime::BackendExecutionContext;
using runtime::Error;
using runtime::EValue;
using runtime::MemoryAllocator;
using runtime::Span;

namespace {

constexpr uint32_t kTimeoutSeconds = 60;  // NXP's default
constexpr size_t kExtraOutputs = 3;
constexpr char kStandIn[] = "reference";  // the version of the stand-in of the tests

/// Error::Ok for the code 0. Otherwise logs the function, what its code says and the step, and returns `error`.
Error answer(NeutronError code, const char* function, const char* step, Error error) {
  if (code == 0) {
    return Error::Ok;
  }
  const unsigned component = static_cast<uint32_t>(code) & 7U;
  ET_LOG(Error, "%s: %s failed with the code %" PRId32 " (error %" PRIu32 " of the %s) while %s", neutron_backend_key,
         function, code, (static_cast<uint32_t>(code) >> 8) & 0x7FFFFFU,
         component == 1   ? "library"
         : component == 2 ? "firmware"
         : component == 3 ? "driver"
                          : "unknown component",
         step);
  return error;
}

/// Allocates memory for a call. MemoryAllocationFailed (logged) if there is not enough.
Error allocate(BackendExecutionContext& context, size_t size, const char* what, void*& memory) {
  memory = nullptr;
  if (size == 0) {
    return Error::Ok;
  }
  memory = context.allocate(size, kAlignment);
  ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed,
                           "%s: there are no %zu bytes for %s: give the method a larger temporary allocator",
                           neutron_backend_key, size, what);
  return Error::Ok;
}

bool is_stand_in() {
  if (&neutronGetSdkVersion == nullptr) {
    return false;
  }
  const char* const version = neutronGetSdkVersion().hashString;
  return version != nullptr && std::strcmp(version, kStandIn) == 0;
}

#ifdef EXECUTORCH_NXP_NEUTRON_EXTERNAL_MEMORY
void copy(void* to, void* from, uint32_t size, uint32_t) {
  std::memcpy(to, from, size);
}
void wait(uint32_t) {}
NeutronConfig fetching = {copy, wait};
#endif

}  // namespace

Delegate::~Delegate() {
  if (handle_ != nullptr) {
    (void)answer(neutronModelUnprepare(handle_), "neutronModelUnprepare", "a model was ended",
                 Error::DelegateInvalidHandle);
  }
}

Error Delegate::load(Span<const uint8_t> bytes, MemoryAllocator& allocator) {
  ET_CHECK_OK_OR_RETURN_ERROR(read_payload(bytes, payload_));
  ET_CHECK_OR_RETURN_ERROR(is_aligned(bytes.data(), kAlignment), InvalidProgram,
                           "%s: the payload lies at an address that is not a multiple of %zu: load the program at one, "
                           "and export with ExecutorchBackendConfig(delegate_alignment=%zu)",
                           neutron_backend_key, kAlignment, kAlignment);
  ET_CHECK_OR_RETURN_ERROR(!payload_.is_reference || is_stand_in(), DelegateInvalidCompatibility,
                           "%s: the program has a reference payload, which only the interpreter of the Python package "
                           "computes: export it with NXP's converter (docs/backends-neutron.md)",
                           neutron_backend_key);
  inputs_ = allocator.allocateList<const void*>(payload_.inputs);
  outputs_ = allocator.allocateList<void*>(payload_.outputs + kExtraOutputs);
  ET_CHECK_OR_RETURN_ERROR((inputs_ != nullptr || payload_.inputs == 0) && outputs_ != nullptr, MemoryAllocationFailed,
                           "%s: there is no memory for the addresses of %zu inputs and %zu outputs",
                           neutron_backend_key, payload_.inputs, payload_.outputs);
#ifdef EXECUTORCH_NXP_NEUTRON_EXTERNAL_MEMORY
  ET_CHECK_OK_OR_RETURN_ERROR(answer(neutronSetConfig(&fetching), "neutronSetConfig",
                                     "the fetching of weights was set up", Error::DelegateInvalidHandle));
#endif
  const NeutronModelConfig config = {payload_.microcode, payload_.weights, payload_.kernels, kTimeoutSeconds};
  NeutronModelHandle handle = nullptr;
  ET_CHECK_OK_OR_RETURN_ERROR(answer(neutronModelPrepare(&config, &handle), "neutronModelPrepare",
                                     "a model was prepared", Error::DelegateInvalidCompatibility));
  ET_CHECK_OR_RETURN_ERROR(handle != nullptr, DelegateInvalidHandle, "%s: neutronModelPrepare made no model",
                           neutron_backend_key);
  handle_ = handle;
  return Error::Ok;
}

Error Delegate::execute(BackendExecutionContext& context, Span<EValue*> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_count(neutron_backend_key, args, payload_.arguments, payload_.outputs));
  ET_CHECK_OK_OR_RETURN_ERROR(set_inputs(context, args));
  ET_CHECK_OK_OR_RETURN_ERROR(set_outputs(context, args));
  ET_CHECK_OK_OR_RETURN_ERROR(set_scratch(context));
  const NeutronDataConfig config = {inputs_, outputs_, outputs_[payload_.outputs], weights_scratch_};
  ET_CHECK_OK_OR_RETURN_ERROR(answer(neutronRunBlocking(handle_, &config), "neutronRunBlocking", "a model was run",
                                     Error::DelegateInvalidHandle));
  for (size_t i = 0; i < payload_.outputs; ++i) {
    const Tensor& tensor = args[payload_.arguments + payload_.output_of[i]]->toTensor();
    if (outputs_[i] != tensor.mutable_data_ptr()) {
      from_channels_last(outputs_[i], tensor);
    }
  }
  return Error::Ok;
}

Error Delegate::set_inputs(BackendExecutionContext& context, Span<EValue*> args) {
  for (size_t i = 0; i < payload_.inputs; ++i) {
    const size_t index = payload_.argument_of[i];
    ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor({neutron_backend_key, "input", index}, *args[index]));
    const Tensor& tensor = args[index]->toTensor();
    Place place = Place::Tensor;
    ET_CHECK_OK_OR_RETURN_ERROR(place_of("input", index, tensor, payload_.input_is_last[i] != 0, place));
    inputs_[i] = tensor.const_data_ptr();
    if (place == Place::Copy) {
      void* memory = nullptr;
      ET_CHECK_OK_OR_RETURN_ERROR(allocate(context, tensor.nbytes(), "an input with channels last", memory));
      to_channels_last(tensor, memory);
      inputs_[i] = memory;
    }
  }
  return Error::Ok;
}

Error Delegate::set_outputs(BackendExecutionContext& context, Span<EValue*> args) {
  for (size_t i = 0; i < payload_.outputs; ++i) {
    const size_t index = payload_.output_of[i];
    const EValue& value = *args[payload_.arguments + index];
    ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor({neutron_backend_key, "output", index}, value));
    const Tensor& tensor = value.toTensor();
    Place place = Place::Tensor;
    ET_CHECK_OK_OR_RETURN_ERROR(place_of("output", index, tensor, payload_.output_is_last[i] != 0, place));
    outputs_[i] = tensor.mutable_data_ptr();
    if (place == Place::Copy) {
      ET_CHECK_OK_OR_RETURN_ERROR(allocate(context, tensor.nbytes(), "an output with channels last", outputs_[i]));
    }
  }
  return Error::Ok;
}

Error Delegate::set_scratch(BackendExecutionContext& context) {
  void** const extra = outputs_ + payload_.outputs;
  ET_CHECK_OK_OR_RETURN_ERROR(allocate(context, payload_.scratch_size, "intermediate results", extra[0]));
  ET_CHECK_OK_OR_RETURN_ERROR(allocate(context, payload_.profile_size, "a profile", extra[1]));
  ET_CHECK_OK_OR_RETURN_ERROR(allocate(context, payload_.debug_size, "debugging", extra[2]));
#ifdef EXECUTORCH_NXP_NEUTRON_EXTERNAL_MEMORY
  ET_CHECK_OK_OR_RETURN_ERROR(
      allocate(context, payload_.weights_scratch_size, "weights that are fetched", weights_scratch_));
#endif
  return Error::Ok;
}

}  // namespace neutron
}  // namespace backends
}  // namespace executorch
