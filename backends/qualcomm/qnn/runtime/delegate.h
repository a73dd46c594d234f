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

namespace executorch {
namespace backends {
namespace qnn {

class Delegate final {
 public:
  explicit Delegate(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;

  runtime::Error load(const char* method);
  /// Inputs first, then outputs, which the library reads and writes where they are.
  runtime::Error execute(runtime::Span<runtime::EValue*> args);

 private:
  static runtime::Error bind(bool is_input, size_t index, const TensorInfo& info, const runtime::EValue& value,
                             Qnn_Tensor_t& tensor);

  std::shared_ptr<const Context> context_;
  const GraphInfo* info_ = nullptr;  ///< of the context
  Qnn_GraphHandle_t graph_ = nullptr;
  std::vector<Qnn_Tensor_t> inputs_;
  std::vector<Qnn_Tensor_t> outputs_;
};

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
