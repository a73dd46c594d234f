// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// What BackendInterface::set_option() and get_option() get from the runtime; empty so far.
class BackendOptionContext final {
 public:
  explicit BackendOptionContext() {}
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

namespace torch {
namespace executor {
using ::executorch::ET_RUNTIME_NAMESPACE::BackendOptionContext;
}  // namespace executor
}  // namespace torch
