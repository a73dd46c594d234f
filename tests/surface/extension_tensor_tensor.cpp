// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/tensor/tensor.h>

#include "signatures.h"
