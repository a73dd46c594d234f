// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace c_api {

/// A verified bundled program in memory.
struct Bundle {
  /// Its first byte; owns all bytes.
  std::shared_ptr<const void> start;
  /// A loader of the program inside, which keeps the bundle alive.
  std::unique_ptr<runtime::DataLoader> program;
};

/// Reads all of `file`. Errors: NotSupported if it is not a bundled program, and in libraries without developer
/// tools; InvalidExternalData if it is damaged; MemoryAllocationFailed; those of the loader.
runtime::Result<Bundle> read_bundle(std::unique_ptr<runtime::DataLoader> file);

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
