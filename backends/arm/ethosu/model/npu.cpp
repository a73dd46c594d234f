// SPDX-License-Identifier: BSD-3-Clause
#include "npu.h"

#include <new>

#include <executorch/runtime/platform/log.h>

#include "commands.h"

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;

namespace {

constexpr uint32_t kMagic = 0x31504F43;  // "COP1"
// Actions of the driver, in the lowest 8 bits of a word.
constexpr uint32_t kConfigure = 1, kStream = 2, kNothing = 5;
constexpr uint32_t kU55 = 0, kU65 = 1;  // products

class Words final {
 public:
  Words(const uint8_t* data, size_t size) : data_(data), count_(size / 4) {}
  size_t count() const { return count_; }
  uint32_t operator[](size_t i) const {
    const uint8_t* const at = data_ + 4 * i;
    return static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8 | static_cast<uint32_t>(at[2]) << 16 |
           static_cast<uint32_t>(at[3]) << 24;
  }

 private:
  const uint8_t* data_;
  size_t count_;
};

/// The word of the configuration: products a cycle as a logarithm, the kilobytes of internal memory, the product.
Error configure(Machine& machine, uint32_t word) {
  const uint32_t logarithm = word & 15, kilobytes = word >> 8 & 255, product = word >> 28;
  ET_CHECK_OR_RETURN_ERROR(product == kU55 || product == kU65, NotSupported,
                           "the commands are for another NPU (product %u) than Ethos-U55 and Ethos-U65",
                           static_cast<unsigned>(product));
  const bool is_known = product == kU55 ? logarithm >= 5 && logarithm <= 8 : logarithm == 8 || logarithm == 9;
  ET_CHECK_OR_RETURN_ERROR(is_known && kilobytes >= 2, InvalidProgram,
                           "the commands are for an NPU with 2^%u products a cycle and %u KB, which does not exist",
                           static_cast<unsigned>(logarithm), static_cast<unsigned>(kilobytes));
  machine.cores = product == kU65 && logarithm == 9 ? 2 : 1;
  machine.input_unit_depth = 8;
  machine.output_unit_depth = product == kU55 && logarithm == 5 ? 4 : 8;
  machine.internal.resize(kilobytes * size_t{1024} / static_cast<size_t>(machine.cores));
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

Error run_stream(Machine& machine, const Words& words, size_t at, size_t end, const CommandObserver& observer) {
  while (at < end) {
    const uint32_t word = words[at++];
    const auto code = static_cast<uint16_t>(word & 0x3FF), value = static_cast<uint16_t>(word >> 16);
    const uint32_t kind = word >> 14 & 3;  // 1: a second word follows
    if (kind == 1) {
      ET_CHECK_OR_RETURN_ERROR(at < end && machine.registers.set_address(code, words[at], value), InvalidProgram,
                               "the command 0x%03x is unknown, or lacks its second word", static_cast<unsigned>(code));
      ++at;
      continue;
    }
    ET_CHECK_OR_RETURN_ERROR(kind == 0, InvalidProgram, "word %zu of the commands is damaged", at - 1);
    if (static_cast<Command>(code) == Command::Stop) {
      return Error::Ok;
    }
    ET_CHECK_OK_OR_RETURN_ERROR(run_command(machine, code, value, observer));
  }
  ET_LOG(Error, "the commands end without a stop");
  return Error::InvalidProgram;
}

Error run(const Words& words, const Regions& regions, const CommandObserver& observer) {
  ET_CHECK_OR_RETURN_ERROR(words.count() > 0 && words[0] == kMagic, InvalidProgram,
                           "the commands do not begin with COP1");
  Machine machine;
  machine.regions = regions;
  size_t at = 1;
  while (at < words.count()) {
    const uint32_t word = words[at++];
    const uint32_t action = word & 0xFF;
    if (action == kConfigure) {
      ET_CHECK_OR_RETURN_ERROR(words.count() - at >= 2, InvalidProgram, "the commands end in their configuration");
      ET_CHECK_OK_OR_RETURN_ERROR(configure(machine, words[at]));
      at += 2;  // the second word is the version of the architecture
    } else if (action == kStream) {
      // 24 bits: the low ones are above, the high ones in the byte that is otherwise unused.
      const size_t length = (word >> 16) | (word >> 8 & 0xFF) << 16;
      ET_CHECK_OR_RETURN_ERROR(length <= words.count() - at && !machine.internal.empty(), InvalidProgram,
                               "a stream of %zu words is there, %zu are left, or its configuration is missing", length,
                               words.count() - at);
      ET_CHECK_OK_OR_RETURN_ERROR(run_stream(machine, words, at, at + length, observer));
      at += length;
    } else {
      ET_CHECK_OR_RETURN_ERROR(action == kNothing, NotSupported, "the driver's action %u is not known here",
                               static_cast<unsigned>(action));
    }
  }
  return Error::Ok;
}

}  // namespace

Error run_command_stream(const uint8_t* commands, size_t size, const Regions& regions,
                         const CommandObserver& observer) {
#if defined(__cpp_exceptions)
  try {
    return run(Words(commands, size), regions, observer);
  } catch (const std::bad_alloc&) {
    ET_LOG(Error, "there is no memory for the model of the NPU");
    return Error::MemoryAllocationFailed;
  }
#else
  return run(Words(commands, size), regions, observer);
#endif
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
