// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include <pybind11/pybind11.h>

#include <executorch/extension/pybindings/sources.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// A bundled program (.bpte) in memory: a program with test inputs and expected outputs.
class PyBundle final {
 public:
  /// Keeps `buffer` alive. Verifies the bundle; the program in it is verified when it is loaded. Throws
  /// ExecuTorchError.
  explicit PyBundle(const pybind11::bytes& buffer);

  /// The program inside, which shares the bytes.
  Source program() const;

  /// The argument of the functions of devtools/bundled_program.
  const std::shared_ptr<void>& bytes() const { return bundle_.data(); }

 private:
  Source bundle_;
  size_t program_offset_ = 0;
  size_t program_size_ = 0;
};

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
