// SPDX-License-Identifier: BSD-3-Clause
// Replaces NXP's Neutron driver in tests: the same C functions, which compute reference payloads on the CPU.
#include "driver.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "reference_graph.h"
#include "stand_in.h"

using executorch::extension::delegate::ReferenceGraph;
using executorch::extension::delegate::Rounding;
using stand_in::fails;
using stand_in::kFailure;
using stand_in::Living;

namespace {

constexpr NeutronError kInvalid = 3 | 5 << 8;  // the error 5 of the driver

struct Model : Living {
  Model(const void* weights, size_t size, uint32_t scratch)
      : graph(static_cast<const uint8_t*>(weights), size, Rounding::Twice), scratch_size(scratch) {}
  ReferenceGraph graph;
  uint32_t scratch_size;
};

std::mutex mutex;
std::map<NeutronModelHandle, std::unique_ptr<Model>> models;

bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

}  // namespace

// The driver of the NPU has another version: the delegate gives it no reference payload.
EXPORT NeutronSdkVersion neutronGetSdkVersion() {
  return {0, 0, 0, "reference", 0};
}

EXPORT NeutronError neutronModelPrepare(const NeutronModelConfig* config, NeutronModelHandle* handle) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (fails()) {
    return kFailure;
  }
  uint32_t words[16];
  std::memcpy(words, config->microcode, sizeof(words));
  if (!is_aligned(config->microcode) || !is_aligned(config->weights) || !is_aligned(config->kernels) ||
      config->timeoutSeconds == 0) {
    return kInvalid;
  }
  try {
    auto model = std::make_unique<Model>(config->weights, words[7], words[9]);
    *handle = model.get();
    models[*handle] = std::move(model);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stand-in of the Neutron driver: %s\n", error.what());
    return kInvalid;
  }
  return 0;
}

// It ends the model in any case.
EXPORT NeutronError neutronModelUnprepare(NeutronModelHandle handle) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (models.erase(handle) == 0) {
    return kInvalid;
  }
  return fails() ? kFailure : 0;
}

EXPORT NeutronError neutronSetConfig(NeutronConfig*) {
  return fails() ? kFailure : 0;
}

EXPORT NeutronError neutronRunBlocking(NeutronModelHandle handle, const NeutronDataConfig* config) {
  const Model* model = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = models.find(handle);
    if (fails()) {
      return kFailure;
    }
    if (found == models.end()) {
      return kInvalid;
    }
    model = found->second.get();
  }
  const size_t outputs = model->graph.output_count();
  void* const scratch = config->outputs[outputs];
  if (model->scratch_size > 0) {
    if (scratch == nullptr || scratch != config->scratch || !is_aligned(scratch)) {
      return kInvalid;
    }
    std::memset(scratch, 0xA5, model->scratch_size);
  }
  try {
    const std::vector<const void*> sources(config->inputs, config->inputs + model->graph.input_count());
    model->graph.run(sources, std::vector<void*>(config->outputs, config->outputs + outputs), nullptr, 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stand-in of the Neutron driver: %s\n", error.what());
    return kInvalid;
  }
  return 0;
}
