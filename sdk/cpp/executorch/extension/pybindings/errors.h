// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // included in every file, so that all use the same converters of containers

#include <executorch/extension/pybindings/log_capture.h>
#include <executorch/runtime/core/error.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// Adds the exception classes ExecuTorchError, a RuntimeError, and UnsupportedInputError to the module.
void bind_errors(pybind11::module_& m);

/// Throws an UnsupportedInputError: a RuntimeError that is a TypeError and a ValueError too. Needs the GIL.
[[noreturn]] void throw_unsupported_input(const std::string& what);

/// Throws an ExecuTorchError: "<what>: <captured line> [<Error name>]", or several lines below it. Needs the GIL.
[[noreturn]] void throw_error(const std::string& what, runtime::Error error, const LogCapture& capture);

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
