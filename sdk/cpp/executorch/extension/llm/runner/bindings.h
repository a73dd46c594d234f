// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

namespace executorch {
namespace extension {
namespace llm {

/// Adds the submodule _llm_runner: sdk.extension.llm.runner. It is part of _portable_lib, whose kernels and backends
/// programs run on.
void bind_llm_runner(pybind11::module_& portable_lib);
/// Parts of it.
void bind_chat_template(pybind11::module_& m);
void bind_engine(pybind11::module_& m);

}  // namespace llm
}  // namespace extension
}  // namespace executorch
