// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace c_api {

/// A bundled program in memory that was verified.
struct Bundle {
  /// Where it starts; owns all of it.
  std::shared_ptr<const void> start;
  /// Reads the program in it, and keeps it.
  std::unique_ptr<runtime::DataLoader> program;
};

/// Reads all that `file` has. Errors: NotSupported for what is no bundled program, and in libraries without developer
/// tools; InvalidExternalData for a damaged one; MemoryAllocationFailed; those of the loader.
runtime::Result<Bundle> read_bundle(std::unique_ptr<runtime::DataLoader> file);

}  // namespace c_api
}  // namespace extension
}  // namespace executorch
