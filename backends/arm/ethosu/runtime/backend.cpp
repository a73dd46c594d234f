// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cinttypes>
#include <cstring>

#include <executorch/extension/delegate/arguments.h>
#include <executorch/extension/delegate/delegate_backend.h>
#include <executorch/extension/delegate/payload.h>
#include <executorch/runtime/platform/log.h>

#include "command_log.h"
#include "driver.h"
#include "payload.h"

extern "C" {
__attribute__((weak)) unsigned char* ethosu_fast_scratch = nullptr;
__attribute__((weak)) size_t ethosu_fast_scratch_size = 0;
}

namespace executorch {
namespace backends {
namespace ethosu {

using namespace extension::delegate::names;
using aten::Tensor;
using extension::delegate::Argument;
using extension::delegate::check_count;
using extension::delegate::check_dtype;
using extension::delegate::check_is_tensor;
using extension::delegate::check_shape;
using extension::delegate::is_aligned;

namespace {

constexpr char kBackend[] = "EthosUBackend";
constexpr size_t kAlignment = 16;  // of all regions

bool has_driver() {
#if defined(__ELF__)
  return &ethosu_reserve_driver != nullptr && &ethosu_release_driver != nullptr && &ethosu_invoke_v3 != nullptr;
#else
  return true;
#endif
}

/// The driver's description; empty for Arm's driver, which does not define one.
const executorch_ethos_u_driver_description& description() {
#if defined(__ELF__)
  static const executorch_ethos_u_driver_description nothing = {};
  return &executorch_ethos_u_driver != nullptr ? executorch_ethos_u_driver : nothing;
#else
  return executorch_ethos_u_driver;
#endif
}

/// Whether the driver runs commands for this NPU, according to its description.
bool runs(const Payload& payload) {
  const auto runs_it = description().runs;
  return runs_it == nullptr || runs_it(payload.npu, payload.macs);
}

/// Whether the tensor, with its dimensions in memory order, has the shape of the edge. Vela joins dimensions and
/// adds some of 1: the bounds between the dimensions of one shape must be among those of the other.
bool has_shape(const Tensor& tensor, const Edge& edge) {
  const auto rank = static_cast<size_t>(tensor.dim());
  size_t ours = 0, theirs = 0, our_bounds = 0, their_bounds = 0, common = 0;
  int64_t elements = 1, expected = 1;
  while (ours < rank || theirs < Edge::kDimensions) {
    const bool is_ours = ours < rank && (elements <= expected || theirs == Edge::kDimensions);
    const int64_t size = is_ours ? tensor.sizes()[tensor.dim_order()[ours++]] : edge.dimensions[theirs++];
    if (size != 1) {
      (is_ours ? elements : expected) *= size;
      ++(is_ours ? our_bounds : their_bounds);
      common += elements == expected ? 1 : 0;
    }
  }
  return elements == expected && (elements == 0 || common == (our_bounds < their_bounds ? our_bounds : their_bounds));
}

Error check_edge(const Argument& argument, const EValue& value, const Edge& edge) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_is_tensor(argument, value));
  const Tensor& tensor = value.toTensor();
  const bool fits = runtime::isIntegralType(tensor.scalar_type(), /*includeBool=*/true) &&
                    static_cast<int64_t>(tensor.element_size()) == edge.element_size;
  ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(argument, tensor, fits,
                                          edge.element_size == 1   ? "8-bit integers"
                                          : edge.element_size == 2 ? "16-bit integers"
                                                                   : "32-bit integers"));
  return check_shape(argument, tensor, has_shape(tensor, edge), [&edge] {
    return runtime::tensor_shape_to_c_string(Span<const int32_t>(edge.dimensions, Edge::kDimensions));
  });
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
  bool is_available() const override {
    if (!has_driver()) {
      ET_LOG(Info, "%s: no driver is linked: link Arm's core driver, or the model of the NPU", kBackend);
    }
    return has_driver();
  }

 protected:
  Error load(Loading<Payload>& loading) const override {
    const auto* const data = static_cast<const uint8_t*>(loading.payload.data());
    Payload& payload = loading.make();
    ET_CHECK_OK_OR_RETURN_ERROR(read_payload({data, loading.payload.size()}, payload));
    ET_CHECK_OR_RETURN_ERROR(is_aligned(data, kAlignment), InvalidProgram,
                             "%s: the payload lies at an address that is not a multiple of %zu: load the program at "
                             "one, and export with ExecutorchBackendConfig(delegate_alignment=%zu)",
                             kBackend, kAlignment, kAlignment);
    ET_CHECK_OR_RETURN_ERROR(
        runs(payload), DelegateInvalidCompatibility,
        "%s: the program is for an Ethos-U%u with %u products a cycle, and the driver runs %s: export it for the NPU "
        "that is there",
        kBackend, static_cast<unsigned>(payload.npu), static_cast<unsigned>(payload.macs), description().what_runs);
    ET_CHECK_OR_RETURN_ERROR(
        !payload.uses_fast_scratch || ethosu_fast_scratch != nullptr || description().has_fast_scratch,
        DelegateInvalidCompatibility,
        "%s: the program was exported for a dedicated SRAM, which this application does not have: define "
        "ethosu_fast_scratch and ethosu_fast_scratch_size, or export with memory_mode=\"Shared_Sram\"",
        kBackend);
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
      const Tensor& tensor = args[i]->toTensor();
      copy(scratch + payload.inputs[i].offset, tensor.const_data_ptr(), tensor.nbytes());
    }
    CommandLog log(context.event_tracer(), payload.cycles);
    ET_CHECK_OK_OR_RETURN_ERROR(invoke(payload, scratch, log));
    for (size_t i = 0; i < outputs; ++i) {
      const Tensor& tensor = args[inputs + i]->toTensor();
      copy(tensor.mutable_data_ptr(), scratch + payload.outputs[i].offset, tensor.nbytes());
    }
    return Error::Ok;
  }

 private:
  /// Tensors without elements may have no memory.
  static void copy(void* to, const void* from, size_t bytes) {
    if (bytes > 0) {
      std::memcpy(to, from, bytes);
    }
  }

  static Error invoke(const Payload& payload, uint8_t* scratch, CommandLog& log) {
    const Reserved npu;
    ET_CHECK_OR_RETURN_ERROR(npu.get() != nullptr, InvalidState,
                             "%s: the driver has no NPU: initialise it before the method runs", kBackend);
    std::array<uint64_t, 3> bases = {reinterpret_cast<uintptr_t>(payload.weights.data()),
                                     reinterpret_cast<uintptr_t>(scratch),
                                     reinterpret_cast<uintptr_t>(ethosu_fast_scratch)};
    const std::array<size_t, 3> sizes = {payload.weights.size(), payload.scratch_size, ethosu_fast_scratch_size};
    const int result = ethosu_invoke_v3(npu.get(), payload.commands.data(), static_cast<int>(payload.commands.size()),
                                        bases.data(), sizes.data(), static_cast<int>(bases.size()), log.observer());
    ET_CHECK_OR_RETURN_ERROR(result == 0, InvalidProgram,
                             "%s: the NPU's driver failed with %d; the program is for an Ethos-U%u with %u products a "
                             "cycle: export it for the NPU that is there",
                             kBackend, result, static_cast<unsigned>(payload.npu), static_cast<unsigned>(payload.macs));
    return Error::Ok;
  }
};

}  // namespace

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch

EXECUTORCH_REGISTER_BACKEND_AT_LOAD(executorch_delegate_ethos_u, "EthosUBackend",
                                    executorch::backends::ethosu::EthosUBackend);
