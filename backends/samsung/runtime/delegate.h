// SPDX-License-Identifier: BSD-3-Clause
// One delegated part of a method: a network that Samsung's library has opened, and the memory of its tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>

#include "enn_api.h"

namespace executorch {
namespace backends {
namespace enn {

class Delegate final {
 public:
  explicit Delegate(const Api& api) : api_(api), session_(api) {}
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;
  ~Delegate();

  /// Keeps the network's bytes until destruction: the library may read them where they are. `chip` is the one that it
  /// was compiled for, for messages; 0 if that is unknown.
  runtime::Error load(runtime::Span<const uint8_t> network, int32_t chip);
  /// Inputs first, then outputs.
  runtime::Error execute(runtime::Span<runtime::EValue*> args);

 private:
  runtime::Error check_buffers() const;
  runtime::Error copy(bool is_input, size_t index, const runtime::EValue& value) const;

  const Api& api_;
  Session session_;
  ModelId model_ = 0;
  bool is_open_ = false;
  Buffer** buffers_ = nullptr;  ///< of the inputs, then of the outputs
  BufferCounts counts_ = {0, 0};
};

}  // namespace enn
}  // namespace backends
}  // namespace executorch
