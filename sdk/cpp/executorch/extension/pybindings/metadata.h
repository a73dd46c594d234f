// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // included in every file, so that all use the same converters of containers

#include <executorch/runtime/executor/method_meta.h>
#include <executorch/runtime/executor/program.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// Metadata of a method, valid as long as the program.
struct PyMethodMeta {
  std::shared_ptr<runtime::Program> program;
  runtime::MethodMeta meta;
};

/// Adds the classes TensorInfo and MethodMeta to the module.
void bind_metadata(pybind11::module_& m);

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
