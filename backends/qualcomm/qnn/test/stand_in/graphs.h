// SPDX-License-Identifier: BSD-3-Clause
// The graphs in a reference payload: one, or one for each method, which share their constants
// (sdk.backends.npu.reference_set).
#pragma once

#include <cstdint>
#include <cstring>
#include <list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "reference_graph.h"

namespace stand_in {

/// A graph, its name and its constants.
class NamedGraph {
 public:
  NamedGraph(std::string name, const uint8_t* payload, size_t size, const std::vector<uint8_t>& constants)
      : name(std::move(name)), graph(payload, size), constants_(constants) {}

  /// Throws std::runtime_error.
  void run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs) const {
    graph.run(inputs, outputs, constants_.data(), constants_.size());
  }

  const std::string name;
  const executorch::extension::delegate::ReferenceGraph graph;

 private:
  const std::vector<uint8_t>& constants_;
};

class Graphs {
 public:
  /// Throws std::runtime_error for bytes that are not a reference payload.
  Graphs(const uint8_t* payload, size_t size) {
    constexpr size_t kMagic = 8, kAlignment = 16;
    if (size < kMagic || std::memcmp(payload, "NPUSET01", kMagic) != 0) {
      all_.emplace_back("forward", payload, size, constants_);
      return;
    }
    size_t at = kMagic;
    const auto take = [&](size_t bytes) {
      if (bytes > size - at) {
        throw std::runtime_error("reference payload: it is truncated");
      }
      at += bytes;
      return payload + at - bytes;
    };
    uint32_t count = 0;
    std::memcpy(&count, take(sizeof(count)), sizeof(count));
    for (; count > 0; --count) {
      uint16_t letters = 0;
      std::memcpy(&letters, take(sizeof(letters)), sizeof(letters));
      const auto* const name = reinterpret_cast<const char*>(take(letters));
      uint32_t bytes = 0;
      std::memcpy(&bytes, take(sizeof(bytes)), sizeof(bytes));
      all_.emplace_back(std::string(name, letters), take(bytes), bytes, constants_);
    }
    const size_t start = (at + kAlignment - 1) / kAlignment * kAlignment;
    if (start > size) {
      throw std::runtime_error("reference payload: it is truncated");
    }
    constants_.assign(payload + start, payload + size);
  }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  const std::list<NamedGraph>& all() const { return all_; }
  /// The graph with a name; null if there is none.
  const NamedGraph* find(const std::string& name) const {
    for (const NamedGraph& each : all_) {
      if (each.name == name) {
        return &each;
      }
    }
    return nullptr;
  }

 private:
  std::vector<uint8_t> constants_;
  std::list<NamedGraph> all_;
};

}  // namespace stand_in
