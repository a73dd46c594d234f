// SPDX-License-Identifier: BSD-3-Clause
// What all programs of the process share: the operators and backends that are linked in, and the threads.
#pragma once

#include <pybind11/pybind11.h>

namespace executorch {
namespace extension {
namespace pybindings {

/// Adds the functions to the module.
void bind_runtime(pybind11::module_& m);

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
