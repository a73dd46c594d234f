// SPDX-License-Identifier: BSD-3-Clause
// Compiled models on disk, by content: Core ML compiles a model once, and later starts load the result.
//
//   <folder>/<key>/model.mlmodelc   a compiled model; the folder of a key appears when it is complete
//   <folder>/<key>/size             its bytes as text; its time of change is that of the last use
//   <folder>/.work-XXXXXX           a model that is being made, or what a crash left
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <executorch/runtime/core/result.h>

#include "container.h"

namespace executorch {
namespace backends {
namespace coreml {

/// Writes the files of a payload to `path`, a folder that must not exist. AccessFailed (logged) if the disk is full or
/// denies it; what was written then stays, for the caller to remove.
runtime::Error write_folder(const Folder& folder, const std::string& path);

/// A folder of compiled models. Several threads and processes may use it at the same time.
class ModelCache final {
 public:
  /// Compiles the model in the folder `package` and returns the path of the result, which the cache moves to itself.
  using Compile = std::function<runtime::Result<std::string>(const std::string& package)>;

  /**
   * Opens the folder, makes it if it does not exist, and removes what crashes left there more than a day ago.
   *
   * @param folder Must be a folder of the application: programs that can write to it can change models' results.
   * @param limit Bytes of compiled models to keep; beyond it, those that were not used for longest are removed. The
   *     model that was added last is always kept.
   * @returns AccessFailed (logged) if the folder cannot be made.
   */
  static runtime::Result<std::unique_ptr<ModelCache>> open(const std::string& folder, uint64_t limit);

  /// The compiled model of a key; empty if it is not cached. Marks it as used now.
  std::string find(const std::string& key) const;

  /**
   * Writes the model of a payload, compiles it, and keeps the result.
   *
   * @param key Names the content: hexadecimal digits (InvalidArgument for anything else).
   * @param package The folder of `payload` to compile, such as model.mlpackage.
   * @returns The path of the compiled model; if another process was faster, the path of its model. AccessFailed
   *     (logged) if the disk fails, or the error of `compile`; no files are left then.
   */
  runtime::Result<std::string> add(const std::string& key, const Folder& payload, const std::string& package,
                                   const Compile& compile) const;

  /// Removes the model of a key, for example because it cannot be loaded.
  void remove(const std::string& key) const;

 private:
  ModelCache(std::string folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  void keep_limit(const std::string& newest) const;

  const std::string folder_;
  const uint64_t limit_;
};

/// The key of a payload for a system, whose text changes when its compiler does.
std::string cache_key(const void* payload, size_t size, const std::string& system);

}  // namespace coreml
}  // namespace backends
}  // namespace executorch
