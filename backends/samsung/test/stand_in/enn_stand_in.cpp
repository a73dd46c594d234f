// SPDX-License-Identifier: BSD-3-Clause
// Replaces Samsung's library in tests: the same C functions, which compute reference payloads on the CPU.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "reference_graph.h"
#include "stand_in.h"

using executorch::extension::delegate::ReferenceGraph;
using executorch::extension::delegate::ReferenceValue;
using stand_in::fails;
using stand_in::kFailure;
using stand_in::Living;

struct Buffer {
  void* data;
  uint32_t size;
  uint32_t offset;
};
struct BufferCounts {
  uint32_t inputs;
  uint32_t outputs;
};

namespace {

constexpr int kInvalid = 3;
constexpr int kOutOfMemory = 6;

struct Context : Living {};

struct Memory : Living {
  explicit Memory(size_t size) : bytes(size), view{bytes.data(), static_cast<uint32_t>(size), 0} {}
  std::vector<unsigned char> bytes;
  Buffer view;
};

struct Model : Living {
  Model(const void* network, size_t size) : graph(static_cast<const uint8_t*>(network), size) {}
  ReferenceGraph graph;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<Buffer*> buffers;
};

std::mutex mutex;
std::unique_ptr<Context> context;
std::map<uint64_t, std::unique_ptr<Model>> models;
uint64_t last_model = 0;

}  // namespace

EXPORT int EnnInitialize() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (fails() || context != nullptr) {
    return kFailure;
  }
  context = std::make_unique<Context>();
  return 0;
}

// Functions that end something do so in any case.
EXPORT int EnnDeinitialize() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (context == nullptr || !models.empty()) {
    return kInvalid;
  }
  context.reset();
  return fails() ? kFailure : 0;
}

EXPORT int EnnOpenModelFromMemory(const char* network, uint32_t size, uint64_t* model) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (fails() || context == nullptr) {
    return kFailure;
  }
  try {
    models[++last_model] = std::make_unique<Model>(network, size);
  } catch (const std::bad_alloc&) {
    models.erase(last_model);
    return kOutOfMemory;
  } catch (const std::exception& error) {
    models.erase(last_model);
    std::fprintf(stderr, "stand-in of Samsung's library: %s\n", error.what());
    return kInvalid;
  }
  *model = last_model;
  return 0;
}

EXPORT int EnnCloseModel(uint64_t model) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (models.erase(model) == 0) {
    return kInvalid;
  }
  return fails() ? kFailure : 0;
}

EXPORT int EnnAllocateAllBuffersWithSessionId(uint64_t id, Buffer*** buffers, BufferCounts* counts, int session,
                                              bool commit) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = models.find(id);
  if (fails() || found == models.end() || session != 0 || !commit) {
    return kFailure;
  }
  Model& model = *found->second;
  const auto add = [&model](const ReferenceValue& value) {
    model.memory.push_back(std::make_unique<Memory>(value.bytes()));
    model.buffers.push_back(&model.memory.back()->view);
  };
  for (size_t i = 0; i < model.graph.input_count(); ++i) {
    add(model.graph.input(i));
  }
  for (size_t i = 0; i < model.graph.output_count(); ++i) {
    add(model.graph.output(i));
  }
  *buffers = model.buffers.data();
  *counts = {static_cast<uint32_t>(model.graph.input_count()), static_cast<uint32_t>(model.graph.output_count())};
  return 0;
}

EXPORT int EnnReleaseBuffers(Buffer** buffers, int32_t count) {
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto& [id, model] : models) {
    if (model->buffers.data() == buffers && model->buffers.size() == static_cast<size_t>(count)) {
      model->buffers.clear();
      model->memory.clear();
      return fails() ? kFailure : 0;
    }
  }
  return kInvalid;
}

EXPORT int EnnExecuteModel(uint64_t id) {
  Model* model = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = models.find(id);
    if (fails() || found == models.end() || found->second->buffers.empty()) {
      return kFailure;
    }
    model = found->second.get();
  }
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < model->buffers.size(); ++i) {
    void* const data = model->buffers[i]->data;
    if (i < model->graph.input_count()) {
      inputs.push_back(data);
    } else {
      outputs.push_back(data);
    }
  }
  try {
    model->graph.run(inputs, outputs, nullptr, 0);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::exception&) {
    return kInvalid;
  }
  return 0;
}
