// SPDX-License-Identifier: BSD-3-Clause
// Old header of parallel_for().
#pragma once

#include <executorch/runtime/kernel/thread_parallel_interface.h>
