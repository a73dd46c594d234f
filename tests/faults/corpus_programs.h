// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <executorch/runtime/core/evalue.h>

#include "inputs.h"
#include "manifest.h"

namespace faults {

/// Programs of the corpus that between them have every kind of value, data and instruction: constants in segments and
/// inside the flatbuffer, data in another file, state, lists, views, jumps, dynamic shapes, outputs without memory.
inline const char* const kPrograms[] = {"add",
                                        "cond",
                                        "counter",
                                        "dyn_batch",
                                        "linear",
                                        "convs",
                                        "multi_method",
                                        "no_planned_io",
                                        "ops_sort",
                                        "ptd_portable",
                                        "ops_rnd_det",
                                        "tensor_list_input",
                                        "tiny_dec_kv_portable"};

/// A copy of results, to compare with those of another run.
inline std::vector<std::string> snapshot(const std::vector<executorch::runtime::EValue>& values) {
  std::vector<std::string> copies;
  for (const auto& value : values) {
    if (value.isTensor()) {
      const auto& tensor = value.toTensor();
      copies.emplace_back(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
    } else {
      copies.emplace_back(reinterpret_cast<const char*>(&value.payload.copyable_union), sizeof(int64_t));
    }
  }
  return copies;
}

}  // namespace faults
