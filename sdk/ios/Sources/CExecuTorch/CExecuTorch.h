/* SPDX-License-Identifier: BSD-3-Clause */
#include <executorch/extension/c_api/executorch.h>
#include <executorch/extension/c_api/images.h>
