// SPDX-License-Identifier: BSD-3-Clause
// The old place of parallel_for().
#pragma once

#include <executorch/runtime/kernel/thread_parallel_interface.h>
