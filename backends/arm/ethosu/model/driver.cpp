// SPDX-License-Identifier: BSD-3-Clause
// The functions of Arm's driver, with the model of the NPU behind them.
#include "../runtime/driver.h"

#include <cinttypes>
#include <cstdlib>
#include <new>
#include <vector>

#include <executorch/runtime/platform/log.h>

#include "../runtime/command_words.h"
#include "npu.h"

using executorch::backends::ethosu::chooses_region;
using executorch::backends::ethosu::CommandObserver;
using executorch::backends::ethosu::CommandWord;
using executorch::backends::ethosu::Configuration;
using executorch::backends::ethosu::is_modelled;
using executorch::backends::ethosu::kFastRegion;
using executorch::backends::ethosu::kMostWork;
using executorch::backends::ethosu::Regions;
using executorch::backends::ethosu::run_command_stream;
using executorch::backends::ethosu::visit_commands;
using executorch::backends::ethosu::Words;
using executorch::runtime::Error;
using executorch::runtime::Result;

struct ethosu_driver {};

namespace {

constexpr size_t kFastMemory = 512 * 1024;  // the size for a U65 in the memory mode Dedicated_Sram_512KB
constexpr char kLimit[] = "ETHOS_U_MODEL_MAX_STEPS";

/// The limit in the environment; the default one without.
uint64_t most_work() {
  const char* const text = std::getenv(kLimit);
  const uint64_t given = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
  return given > 0 ? given : kMostWork;
}

Error run(const uint8_t* commands, size_t size, Regions& regions, executorch_ethos_u_observer* observer) {
  bool uses_fast = false;
  ET_CHECK_OK_OR_RETURN_ERROR(visit_commands(
      Words({commands, size}), [](const Configuration&) { return Error::Ok; },
      [&uses_fast](const CommandWord& command) -> Result<bool> {
        uses_fast |= chooses_region(command, kFastRegion);
        return !command.is_stop();
      }));
  std::vector<uint8_t> fast;
  if (uses_fast && regions[kFastRegion].data == nullptr) {
    fast.resize(kFastMemory);
    regions[kFastRegion] = {fast.data(), fast.size(), false};
  }
  CommandObserver report;
  if (observer != nullptr) {
    report = [observer](const char* name) { observer->after_command(observer, name); };
  }
  const uint64_t most = most_work();
  const Error error = run_command_stream({commands, size}, regions, most, report);
  if (error == Error::OutOfResources) {
    ET_LOG(Error, "set %s to more than %" PRIu64 " for a program that may run this long", kLimit, most);
  }
  return error;
}

}  // namespace

extern "C" {

const executorch_ethos_u_driver_description executorch_ethos_u_driver = {
    true, true, is_modelled,
    "the model of the NPU: Ethos-U55 with 32 to 256 products a cycle, Ethos-U65 with 256 and 512"};

ethosu_driver* ethosu_reserve_driver(void) {
  static ethosu_driver driver;
  return &driver;
}

void ethosu_release_driver(ethosu_driver*) {}

int ethosu_invoke_v3(ethosu_driver*, const void* custom_data_ptr, int custom_data_size, uint64_t* const base_addr,
                     const size_t* base_addr_size, int num_base_addr, void* user_arg) {
  Regions regions;
  for (size_t i = 0; i < regions.size() && i < static_cast<size_t>(num_base_addr); ++i) {
    regions[i] = {reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(base_addr[i])), base_addr_size[i], i == 0};
  }
  const auto* const commands = static_cast<const uint8_t*>(custom_data_ptr);
  const auto size = static_cast<size_t>(custom_data_size);
  auto* const observer = static_cast<executorch_ethos_u_observer*>(user_arg);
#if defined(__cpp_exceptions)
  try {
    return static_cast<int>(run(commands, size, regions, observer));
  } catch (const std::bad_alloc&) {
    return static_cast<int>(Error::MemoryAllocationFailed);
  }
#else
  return static_cast<int>(run(commands, size, regions, observer));
#endif
}

}  // extern "C"
