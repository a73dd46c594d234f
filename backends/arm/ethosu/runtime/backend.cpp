// SPDX-License-Identifier: BSD-3-Clause
#include <cinttypes>
#include <cstring>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/runtime/platform/log.h>

#include "driver.h"
#include "payload.h"

namespace executorch {
namespace backends {
namespace ethosu {

using extension::delegate::Argument;
using extension::delegate::check_count;
using extension::delegate::check_is_tensor;
using extension::delegate::DelegateBackend;
using extension::delegate::Loading;
using runtime::BackendExecutionContext;
using runtime::Error;
using runtime::EValue;
using runtime::Span;

namespace {

constexpr char kBackend[] = "EthosUBackend";
constexpr size_t kAlignment = 16;  // of all regions

/// InvalidArgument unless the tensor has the bytes of the edge.
Error check_edge(const Argument& argument, const EValue& value, const Edge& edge) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
  const auto& tensor = value.toTensor();
  ET_CHECK_OR_RETURN_ERROR(static_cast<int64_t>(tensor.nbytes()) == edge.bytes &&
                               static_cast<int64_t>(tensor.element_size()) == edge.element_size,
                           InvalidArgument,
                           "%s: %s %zu of a delegate has %zu bytes with elements of %zu, its payload expects %" PRId64
                           " with elements of %" PRId64,
                           argument.backend, argument.kind, argument.index, static_cast<size_t>(tensor.nbytes()),
                           static_cast<size_t>(tensor.element_size()), edge.bytes, edge.element_size);
  return Error::Ok;
}

/// An NPU for one call.
class Reserved final {
 public:
  Reserved() : driver_(ethosu_reserve_driver()) {}
  ~Reserved() {
    if (driver_ != nullptr) {
      ethosu_release_driver(driver_);
    }
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  ethosu_driver* get() const { return driver_; }

 private:
  ethosu_driver* driver_;
};

class EthosUBackend final : public DelegateBackend<Payload> {
 public:
  bool is_available() const override { return true; }

 protected:
  Error load(Loading<Payload>& loading) const override {
    const auto* const data = static_cast<const uint8_t*>(loading.payload.data());
    ET_CHECK_OK_OR_RETURN_ERROR(read_payload({data, loading.payload.size()}, loading.make()));
    ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(data) % kAlignment == 0, InvalidProgram,
                             "%s: the payload lies at an address that is not a multiple of %zu: export with "
                             "ExecutorchBackendConfig(segment_alignment=%zu), and load the file at such an address",
                             kBackend, kAlignment, kAlignment);
    return Error::Ok;
  }

  Error run(BackendExecutionContext& context, Payload& payload, Span<EValue*> args) const override {
    const size_t inputs = payload.inputs.size(), outputs = payload.outputs.size();
    ET_CHECK_OK_OR_RETURN_ERROR(check_count(kBackend, args, inputs, outputs));
    for (size_t i = 0; i < args.size(); ++i) {
      const bool is_input = i < inputs;
      const Argument argument = {kBackend, is_input ? "input" : "output", is_input ? i : i - inputs};
      ET_CHECK_OK_OR_RETURN_ERROR(
          check_edge(argument, *args[i], is_input ? payload.inputs[i] : payload.outputs[i - inputs]));
    }
    auto* const scratch = static_cast<uint8_t*>(context.allocate(payload.scratch_size, kAlignment));
    ET_CHECK_OR_RETURN_ERROR(
        scratch != nullptr, MemoryAllocationFailed,
        "%s: the NPU needs %zu bytes of scratch memory: give the method a larger temporary allocator", kBackend,
        payload.scratch_size);
    for (size_t i = 0; i < inputs; ++i) {
      const auto& tensor = args[i]->toTensor();
      std::memcpy(scratch + payload.inputs[i].offset, tensor.const_data_ptr(), tensor.nbytes());
    }
    ET_CHECK_OK_OR_RETURN_ERROR(invoke(payload, scratch));
    for (size_t i = 0; i < outputs; ++i) {
      const auto& tensor = args[inputs + i]->toTensor();
      std::memcpy(tensor.mutable_data_ptr(), scratch + payload.outputs[i].offset, tensor.nbytes());
    }
    return Error::Ok;
  }

 private:
  static Error invoke(const Payload& payload, uint8_t* scratch) {
    const Reserved npu;
    ET_CHECK_OR_RETURN_ERROR(npu.get() != nullptr, NotSupported, "%s: there is no NPU", kBackend);
    const bool has_fast = &ethosu_fast_scratch != nullptr && &ethosu_fast_scratch_size != nullptr;
    uint64_t bases[] = {reinterpret_cast<uintptr_t>(payload.weights.data()), reinterpret_cast<uintptr_t>(scratch),
                        has_fast ? reinterpret_cast<uintptr_t>(ethosu_fast_scratch) : 0};
    const size_t sizes[] = {payload.weights.size(), payload.scratch_size, has_fast ? ethosu_fast_scratch_size : 0};
    const int result = ethosu_invoke_v3(npu.get(), payload.commands.data(), static_cast<int>(payload.commands.size()),
                                        bases, sizes, has_fast ? 3 : 2, nullptr);
    ET_CHECK_OR_RETURN_ERROR(result == 0, DelegateInvalidHandle, "%s: the NPU's driver returned %d", kBackend, result);
    return Error::Ok;
  }
};

}  // namespace

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(ethos_u_backend, "EthosUBackend", executorch::backends::ethosu::EthosUBackend);
