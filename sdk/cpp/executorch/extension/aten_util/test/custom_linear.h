// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <executorch/runtime/kernel/kernel_includes.h>

/// input @ weight^T + bias. weight is (out, in), input (n, in), bias (out), out (n, out); all Float.
executorch::aten::Tensor& custom_linear_out(const executorch::aten::Tensor& weight,
                                            const executorch::aten::Tensor& input,
                                            std::optional<executorch::aten::Tensor> bias,
                                            executorch::aten::Tensor& out);
