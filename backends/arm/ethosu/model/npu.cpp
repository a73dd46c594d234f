// SPDX-License-Identifier: BSD-3-Clause
#include "npu.h"

#include <new>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/log.h>

#include "../runtime/command_words.h"
#include "commands.h"

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;
using runtime::Result;

namespace {

constexpr uint32_t kU55 = 55, kU65 = 65;

Error configure(Machine& machine, const Configuration& found) {
  ET_CHECK_OR_RETURN_ERROR(found.name() == kU55 || found.name() == kU65, NotSupported,
                           "the commands are for another NPU (product %u) than Ethos-U55 and Ethos-U65",
                           static_cast<unsigned>(found.product));
  ET_CHECK_OR_RETURN_ERROR(is_modelled(found.name(), found.macs) && found.kilobytes >= 2, InvalidProgram,
                           "the commands are for an Ethos-U%u with %u products a cycle and %u KB, which does not exist",
                           static_cast<unsigned>(found.name()), static_cast<unsigned>(found.macs),
                           static_cast<unsigned>(found.kilobytes));
  machine.cores = found.macs == 512 ? 2 : 1;
  machine.input_unit_depth = 8;
  machine.output_unit_depth = found.macs == 32 ? 4 : 8;
  machine.internal.resize(found.kilobytes * size_t{1024} / static_cast<size_t>(machine.cores));
  return Error::Ok;
}

Error run_command(Machine& machine, uint16_t code, uint16_t value, const CommandObserver& observer) {
  const char* name = nullptr;
  Error error = Error::Ok;
  switch (static_cast<Command>(code)) {
    case Command::Convolution:
    case Command::Depthwise: {
      const bool is_depthwise = static_cast<Command>(code) == Command::Depthwise;
      name = is_depthwise ? "depthwise" : "convolution";
      error = run_convolution(machine, is_depthwise);
      break;
    }
    case Command::Pool:
      name = "pool";
      error = run_pool(machine, value);
      break;
    case Command::Elementwise:
      name = "elementwise";
      error = run_elementwise(machine, value);
      break;
    case Command::DmaStart:
      name = "copy";
      error = run_dma(machine);
      break;
    case Command::Irq:
    case Command::DmaWait:
    case Command::KernelWait:
    case Command::PmuMask:
      return Error::Ok;  // commands run one after the other here
    default:
      ET_CHECK_OR_RETURN_ERROR(machine.registers.set(code, value), InvalidProgram, "the command 0x%03x is unknown",
                               static_cast<unsigned>(code));
      return Error::Ok;
  }
  if (error == Error::Ok && observer) {
    observer(name);
  }
  return error;
}

Error run(const Words& words, const Regions& regions, uint64_t most_work, const CommandObserver& observer) {
  Machine machine;
  machine.regions = regions;
  machine.work_left = machine.most_work = most_work;
  const auto run = [&](const CommandWord& word) -> Result<bool> {
    if (word.has_second) {
      ET_CHECK_OR_RETURN_ERROR(machine.registers.set_address(word.code, word.second, word.value), InvalidProgram,
                               "the command 0x%03x is unknown", static_cast<unsigned>(word.code));
      return true;
    }
    if (word.is_stop()) {
      return false;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(run_command(machine, word.code, word.value, observer));
    return true;
  };
  return visit_commands(words, [&machine](const Configuration& found) { return configure(machine, found); }, run);
}

}  // namespace

bool is_modelled(uint32_t npu, uint32_t macs) {
  return (npu == kU55 && macs >= 32 && macs <= 256) || (npu == kU65 && macs >= 256 && macs <= 512);
}

Error run_command_stream(runtime::Span<const uint8_t> commands, const Regions& regions, uint64_t most_work,
                         const CommandObserver& observer) {
#if defined(__cpp_exceptions)
  try {
    return run(Words(commands), regions, most_work, observer);
  } catch (const std::bad_alloc&) {
    ET_LOG(Error, "there is no memory for the model of the NPU");
    return Error::MemoryAllocationFailed;
  }
#else
  return run(Words(commands), regions, most_work, observer);
#endif
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
