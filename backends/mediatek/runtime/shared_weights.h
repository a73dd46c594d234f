// SPDX-License-Identifier: BSD-3-Clause
// Weights that methods of a program share, which are the last input of their networks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>

#include "NeuronBufferAllocator.h"

namespace executorch {
namespace backends {
namespace neuron {

class SharedWeights {
 public:
  /// The named data of a program under `key`. All delegates that are loaded with the same bytes share one copy in the
  /// NPU's memory; if there is no such memory, the program's bytes are used. NotFound (logged) if there is no such
  /// data. Throws std::bad_alloc.
  static runtime::Result<std::shared_ptr<const SharedWeights>> load(const std::string& key,
                                                                    const runtime::NamedDataMap* data);

  const void* data() const { return unit_ != nullptr ? unit_->GetAddress() : bytes_.data(); }
  size_t size() const { return size_; }
  /// Null if there is no memory of the NPU.
  const std::shared_ptr<const MemoryUnit>& unit() const { return unit_; }

 private:
  explicit SharedWeights(runtime::FreeableBuffer bytes);

  runtime::FreeableBuffer bytes_;  ///< kept: a mapped program gives the same address to every method
  size_t size_;
  std::shared_ptr<const MemoryUnit> unit_;
};

}  // namespace neuron
}  // namespace backends
}  // namespace executorch
