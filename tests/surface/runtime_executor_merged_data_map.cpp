// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/merged_data_map.h>

#include "signatures.h"
