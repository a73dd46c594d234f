// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * Everything that the source of a kernel needs. Kernels are in torch::executor::native (or another namespace) and use
 * the names of executorch::aten.
 */
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/thread_parallel_interface.h>

// Older compilers reject string literals of static storage as NAME of ET_SWITCH_*; here a constexpr pointer always
// works.
#define ET_USE_STRUCTURAL_OPERATOR_NAME 0
#define ET_OPERATOR_NAME_TYPE const char*
/// Defines a name of an operator for several ET_SWITCH_* of one kernel.
#define ET_DEFINE_OPERATOR_NAME(variable, name) static constexpr const char* variable = name
