// SPDX-License-Identifier: BSD-3-Clause
// One delegated part of a method: a model that NXP's driver has prepared.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/core/span.h>

#include "driver.h"
#include "payload.h"

namespace executorch {
namespace backends {
namespace neutron {

class Delegate final {
 public:
  Delegate() = default;
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;
  ~Delegate();

  /// Keeps the payload's bytes until destruction: the driver reads them where they are.
  runtime::Error load(runtime::Span<const uint8_t> bytes, runtime::MemoryAllocator& allocator);
  /// Inputs first, then outputs. Memory for intermediate results and for copies comes from the context.
  runtime::Error execute(runtime::BackendExecutionContext& context, runtime::Span<runtime::EValue*> args);

 private:
  runtime::Error set_inputs(runtime::BackendExecutionContext& context, runtime::Span<runtime::EValue*> args);
  runtime::Error set_outputs(runtime::BackendExecutionContext& context, runtime::Span<runtime::EValue*> args);
  runtime::Error set_scratch(runtime::BackendExecutionContext& context);

  Payload payload_;
  NeutronModelHandle handle_ = nullptr;
  const void** inputs_ = nullptr;
  void** outputs_ = nullptr;  ///< then for intermediate results, profile, debugging
  void* weights_scratch_ = nullptr;
};

}  // namespace neutron
}  // namespace backends
}  // namespace executorch
