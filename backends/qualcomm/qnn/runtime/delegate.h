// SPDX-License-Identifier: BSD-3-Clause
// One delegated part of a method: a graph of a context.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>

#include "context.h"
#include "shared_memory.h"

namespace executorch {
namespace backends {
namespace qnn {

class Delegate final {
 public:
  /// `shares`: whether the processor imports the memory of QnnExecuTorch.h.
  Delegate(std::shared_ptr<const Context> context, bool shares) : context_(std::move(context)), shares_(shares) {}
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;
  ~Delegate();

  runtime::Error load(const char* method);
  /// Inputs first, then outputs, which the library reads and writes where they are.
  runtime::Error execute(runtime::Span<runtime::EValue*> args);

 private:
  /// A tensor of the graph as the library gets it, and the memory that is registered for it.
  struct Place {
    Qnn_Tensor_t* tensor;
    const TensorInfo* info;
    uint64_t memory = 0;  ///< the id of a SharedBuffer; 0 for none
    Qnn_MemHandle_t handle = nullptr;
  };

  runtime::Error bind(bool is_input, size_t index, const runtime::EValue& value, Place& place) const;
  runtime::Error share(const SharedBuffer& buffer, Place& place) const;
  runtime::Error unregister(Place& place) const;

  std::shared_ptr<const Context> context_;
  bool shares_;
  const GraphInfo* info_ = nullptr;  ///< of the context
  Qnn_GraphHandle_t graph_ = nullptr;
  std::vector<Qnn_Tensor_t> inputs_;
  std::vector<Qnn_Tensor_t> outputs_;
  std::vector<Place> places_;  ///< of the inputs, then of the outputs
};

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
