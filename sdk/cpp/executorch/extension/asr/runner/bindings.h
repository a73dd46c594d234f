// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

namespace executorch {
namespace extension {
namespace asr {

/// Adds the submodule _asr_runner: sdk.extension.asr.runner.
void bind_asr_runner(pybind11::module_& portable_lib);

}  // namespace asr
}  // namespace extension
}  // namespace executorch
