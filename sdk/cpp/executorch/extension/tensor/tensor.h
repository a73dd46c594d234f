// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Tensors that own their memory, and every way to make one.
#include <executorch/extension/tensor/tensor_accessor.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
