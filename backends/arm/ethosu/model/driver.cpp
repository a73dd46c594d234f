// SPDX-License-Identifier: BSD-3-Clause
// The functions of Arm's driver, with the model of the NPU behind them.
#include "../runtime/driver.h"

#include <vector>

#include "npu.h"

using executorch::backends::ethosu::Regions;
using executorch::backends::ethosu::run_command_stream;
using executorch::runtime::Error;

struct ethosu_driver {};

namespace {

constexpr size_t kFastMemory = 512 * 1024;  // that of a U65 in the memory mode Dedicated_Sram_512KB

}  // namespace

extern "C" {

ethosu_driver* ethosu_reserve_driver(void) {
  static ethosu_driver driver;
  return &driver;
}

void ethosu_release_driver(ethosu_driver*) {}

int ethosu_invoke_v3(ethosu_driver*, const void* custom_data_ptr, int custom_data_size, uint64_t* const base_addr,
                     const size_t* base_addr_size, int num_base_addr, void*) {
  Regions regions;
  for (int i = 0; i < num_base_addr && static_cast<size_t>(i) < regions.size(); ++i) {
    const auto region = static_cast<size_t>(i);
    regions[region] = {reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(base_addr[i])), base_addr_size[i], i == 0};
  }
  std::vector<uint8_t> fast;
  if (regions[2].data == nullptr) {
    fast.resize(kFastMemory);
    regions[2] = {fast.data(), fast.size(), false};
  }
  const Error error =
      run_command_stream(static_cast<const uint8_t*>(custom_data_ptr), static_cast<size_t>(custom_data_size), regions);
  return error == Error::Ok ? 0 : static_cast<int>(error);
}

}  // extern "C"
