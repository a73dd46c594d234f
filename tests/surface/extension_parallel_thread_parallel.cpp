// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/parallel/thread_parallel.h>

#include "signatures.h"
