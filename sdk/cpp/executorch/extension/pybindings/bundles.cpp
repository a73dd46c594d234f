// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/pybindings/bundles.h>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/pybindings/errors.h>

namespace py = pybind11;

namespace executorch {
namespace extension {
namespace pybindings {

using runtime::Error;

PyBundle::PyBundle(const py::bytes& buffer) : bundle_(Source::buffer(buffer)) {
  char* const data = static_cast<char*>(bundle_.data().get());
  const LogCapture capture;
  if (!bundled_program::is_bundled_program(data, bundle_.size())) {
    throw_error("the buffer is not a bundled program (.bpte)", Error::NotSupported, capture);
  }
  const void* program = nullptr;
  const Error error = bundled_program::get_program_data(data, bundle_.size(), &program, &program_size_);
  if (error != Error::Ok) {
    throw_error("the bundled program cannot be loaded", error, capture);
  }
  program_offset_ = static_cast<size_t>(static_cast<const char*>(program) - data);
}

Source PyBundle::program() const {
  const std::shared_ptr<void>& bytes = bundle_.data();
  void* const program = static_cast<char*>(bytes.get()) + program_offset_;
  return Source::memory("the bundled program", std::shared_ptr<void>(bytes, program), program_size_);
}

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
