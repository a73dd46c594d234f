// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace extension {
namespace internal {

/// A loader of the file at `path`. InvalidArgument for an unknown mode; otherwise the loader's errors.
runtime::Result<std::unique_ptr<runtime::DataLoader>> open_file(const std::string& path, Module::LoadMode mode);

/// The external data of a Module: none, one file, or several files as one map.
class DataFiles final {
 public:
  explicit DataFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  /// Adds a loader, after the files at the paths. Call it before load().
  void add(std::unique_ptr<runtime::DataLoader> loader) { added_.push_back(std::move(loader)); }

  bool is_loaded() const { return loaded_; }

  /// Opens and verifies all files; returns Ok at once if that is done. After an error the next call tries again.
  runtime::Error load(Module::LoadMode mode);

  /// The data by name; null without data. Call it after load().
  const NamedDataMap* map() const;

 private:
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<runtime::DataLoader>> opened_;  // the files at paths_
  std::vector<std::unique_ptr<runtime::DataLoader>> added_;
  std::vector<std::unique_ptr<NamedDataMap>> maps_;
  std::unique_ptr<NamedDataMap> merged_;
  bool loaded_ = false;
};

}  // namespace internal
}  // namespace extension
}  // namespace executorch
