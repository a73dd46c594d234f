// SPDX-License-Identifier: BSD-3-Clause
// libFuzzer target for payloads of MPS: reads a payload, every byte of its constants, and infers what each node
// computes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <executorch/runtime/platform/platform.h>

#include "infer.h"

using namespace executorch::backends::mps;

// Errors of damaged payloads are expected.
extern "C" void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                                        const char*, size_t) {}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = read_payload(data, size);
  if (!graph.ok()) {
    return 0;
  }
  unsigned sum = 0;
  for (const int32_t id : graph->constants) {
    const Value& value = graph->values[id];
    for (size_t i = 0; i < value.data_size; ++i) {
      sum += value.data[i];
    }
  }
  std::vector<Type> types(graph->values.begin(), graph->values.end());
  for (const Node& node : graph->nodes) {
    OperandTypes operands;
    for (const int32_t id : node.operands) {
      operands.push_back(id == kAbsent ? nullptr : &types[id]);
    }
    std::vector<Type> results;
    if (!infer(node, operands, results).empty() || results.size() != node.results.size()) {
      return 0;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].sizes.empty() || count_of(results[i].sizes) < 1) {
        std::abort();  // MPSGraph has neither
      }
      if (results[i].sizes != graph->values[node.results[i]].sizes) {
        return 0;
      }
      types[node.results[i]] = results[i];
    }
  }
  return static_cast<int>(sum & 0);
}
