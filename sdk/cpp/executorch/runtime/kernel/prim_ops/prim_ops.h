// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch {
namespace runtime {
namespace prim_ops {

/// The operators that exporters expect in every runtime: arithmetic on sizes and other scalars (`executorch_prim::*`),
/// reading sizes and elements of tensors (`aten::sym_size.int`, `aten::sym_numel`, `aten::_local_scalar_dense`), and
/// views. Scalars follow Python: `//` and `%` round to negative infinity, `/` gives a float, a bool counts as an int.
///
/// A kernel fails with InvalidProgram when its arguments are not of the expected number and types, and with
/// InvalidArgument when Python would raise (division by zero) or when an int does not fit 64 bits.
Span<const Kernel> scalar_kernels();
Span<const Kernel> tensor_kernels();

/// Registers all of them; does nothing from the second time on. Program::load() calls it, and so do lookups in the
/// registry.
/// Errors: those of register_kernels().
Error register_prim_ops();

}  // namespace prim_ops
}  // namespace runtime
}  // namespace executorch
