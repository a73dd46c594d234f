// SPDX-License-Identifier: BSD-3-Clause
// A context that Qualcomm's library made of a context binary, and what its graphs read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

#include "payload.h"
#include "qnn_api.h"

namespace executorch {
namespace backends {
namespace qnn {

/// An input or output of a graph.
struct TensorInfo {
  std::string name;
  std::vector<uint32_t> sizes;
  Qnn_Tensor_t tensor;  ///< its name and dimensions are those above
  aten::ScalarType type;
  size_t bytes;
};

struct GraphInfo {
  std::string name;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
};

/// Whether the processor's library reads a context binary in place while the context exists. Other libraries copy it:
/// docs.qualcomm.com, 80-63442-10, lpai_backend_datastructure.
inline bool keeps_binary(Processor processor) {
  return processor == Processor::Lpai;
}

class Context final {
 public:
  /// The context of a binary. Delegates with the same signature and processor share it, unless the library reads the
  /// binary in place (keeps_binary()). Errors are logged. Throws std::bad_alloc.
  static runtime::Result<std::shared_ptr<const Context>> get(const ContextBinary& binary, Processor processor);

  explicit Context(const Api& api) : api_(api) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  const Interface& functions() const { return api_.functions; }
  Qnn_ContextHandle_t handle() const { return context_; }
  /// The graph called `name` (may be null), else the only graph. InvalidProgram (logged) if there are several.
  runtime::Result<const GraphInfo*> graph(const char* name) const;

 private:
  runtime::Error load(const ContextBinary& binary, const SystemApi& system);
  runtime::Error describe(const ContextBinary& binary, const SystemApi& system);

  const Api& api_;
  Qnn_BackendHandle_t backend_ = nullptr;
  Qnn_DeviceHandle_t device_ = nullptr;
  Qnn_ContextHandle_t context_ = nullptr;
  std::vector<GraphInfo> graphs_;
};

}  // namespace qnn
}  // namespace backends
}  // namespace executorch
