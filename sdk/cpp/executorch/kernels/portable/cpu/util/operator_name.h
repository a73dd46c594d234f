// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * ET_OPERATOR_NAME_TYPE, the type of the names of operators among the arguments of templates. Here it is a pointer to
 * static characters in every version of C++.
 */
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>
