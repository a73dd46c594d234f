// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // included in every file, so that all use the same converters of containers

#include <executorch/runtime/core/data_loader.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// The source of a file's bytes: a path, which is mapped, a bytes object, which is used in place, or a loader.
class Source final {
 public:
  static Source path(std::string path);
  /// Keeps `bytes` alive. Copies it only if it is not aligned as programs must be.
  static Source buffer(const pybind11::bytes& bytes);
  /// Bytes that `data` owns, aligned as programs must be.
  static Source memory(std::string name, std::shared_ptr<void> data, size_t size);
  /// The bytes that `loader` reads. All loaders that open() returns share it.
  static Source loader(std::string name, std::shared_ptr<runtime::DataLoader> loader);

  /// Its name in messages.
  const std::string& name() const { return name_; }

  /// The bytes; null for a path or a loader.
  const std::shared_ptr<void>& data() const { return data_; }
  /// The size of data() in bytes; 0 without data().
  size_t size() const { return size_; }

  /// A new loader; throws ExecuTorchError if the file cannot be opened.
  std::unique_ptr<runtime::DataLoader> open() const;

 private:
  std::string name_;
  std::shared_ptr<void> data_;
  std::shared_ptr<runtime::DataLoader> loader_;
  size_t size_ = 0;
};

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
