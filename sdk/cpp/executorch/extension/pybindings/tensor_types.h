// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // included in every file, so that all use the same converters of containers

#include <executorch/runtime/core/exec_aten/exec_aten.h>

// Conversions between the dtypes of the runtime, numpy and torch. Neither is imported here: torch is used only if the
// process has already imported it.
namespace executorch {
namespace extension {
namespace pybindings {

/// The dtype of a numpy array; nullopt if the runtime does not have it (or it is byte-swapped).
std::optional<aten::ScalarType> scalar_type_of_numpy(const pybind11::dtype& dtype);

/// The numpy dtype; nullopt if numpy does not have it. BFloat16 is that of ml_dtypes where it is installed.
std::optional<pybind11::dtype> numpy_dtype_of(aten::ScalarType type);

/// The name that PyTorch and numpy give a dtype: "float32".
std::string dtype_name(aten::ScalarType type);

}  // namespace pybindings
}  // namespace extension
}  // namespace executorch
