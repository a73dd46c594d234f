// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include <executorch/runtime/core/data_loader.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// Python's `PyDataLoader`: a DataLoader that programs are loaded from. Libraries with their own C++ loaders
/// construct it from one; Python code constructs it from an object with the functions `size()` and `load(offset,
/// size)`. Loading from it several times is allowed.
struct PyDataLoader final {
  std::shared_ptr<runtime::DataLoader> loader;
};

/// Adds the class PyDataLoader to the module.
void bind_data_loaders(pybind11::module_& m);

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
