# SPDX-License-Identifier: BSD-3-Clause
"""Operators with int8 weights and float32 activations."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sdk.backends.cadence.aot.operators.registry import check, check_dtype, operator

_LAYER = "Tensor input, Tensor weight, float w_scale, Tensor bias, float b_scale"
_LANES = 4
"""Numbers of channels must be multiples of this number, the lanes of a vector register."""


def _linear_shape(input: Tensor, weight: Tensor, w_scale: float, bias: Tensor, b_scale: float) -> Tensor:
    check(weight.dim() == 2, f"cadence::quantized_w8a32_linear: expected 2 dimensions of weights, found {weight.dim()}")
    _check_row(input)
    outputs = weight.shape[1] if weight.shape[0] == input.shape[-1] else weight.shape[0]
    return input.new_empty([*input.shape[:-1], outputs])


def _check_row(input: Tensor) -> None:
    check(input.dim() < 2 or input.shape[-2] == 1,
          f"Only supporting vector-matrix multiplication: expected one row, found {list(input.shape)}")  # fmt: skip


@operator("quantized_w8a32_linear", _LAYER, _linear_shape, outs=("output",))
def quantized_w8a32_linear(input: Tensor, weight: Tensor, w_scale: float, bias: Tensor, b_scale: float) -> Tensor:
    """Multiplies a row by weights of shape (inputs, outputs)."""
    check_dtype("quantized_w8a32_linear", "weights", weight, torch.int8)
    check_dtype("quantized_w8a32_linear", "a bias", bias, torch.int8)
    _check_row(input)
    return F.linear(input.float(), weight.t().float() * w_scale, bias.float() * b_scale)


def _check_kernel(weight: Tensor) -> None:
    check(weight.dim() == 3, "Weight tensor must be 3D")
    kernel, outputs, inputs = weight.shape
    check(kernel == 3, f"Kernel size must be 3, found {kernel}")
    check(outputs % _LANES == 0, f"Out channels must be a multiple of {_LANES}, found {outputs}")
    check(inputs % _LANES == 0, f"In channels must be a multiple of {_LANES}, found {inputs}")


def _conv_shape(input: Tensor, weight: Tensor, w_scale: float, bias: Tensor, b_scale: float) -> Tensor:
    _check_kernel(weight)
    kernel, outputs, inputs = weight.shape
    check(input.dim() == 3 and input.shape[2] == inputs,
          f"cadence::quantized_w8a32_conv: expected (batch, length, {inputs}), found {list(input.shape)}")  # fmt: skip
    return input.new_empty([input.shape[0], outputs, input.shape[1] - kernel + 1])


@operator("quantized_w8a32_conv", _LAYER, _conv_shape, outs=("output",))
def quantized_w8a32_conv(input: Tensor, weight: Tensor, w_scale: float, bias: Tensor, b_scale: float) -> Tensor:
    """Convolves (batch, length, inputs) with weights (3, outputs, inputs). The result is (batch, outputs, length)."""
    _check_kernel(weight)
    check_dtype("quantized_w8a32_conv", "weights", weight, torch.int8)
    check_dtype("quantized_w8a32_conv", "a bias", bias, torch.int8)
    kernel = weight.permute(1, 2, 0).float() * w_scale
    return F.conv1d(input.permute(0, 2, 1).float(), kernel, bias.float() * b_scale)


def _gru_shape(inputs: Tensor, hidden: Tensor, weights_inputs: Tensor, w_i_scale: float, weights_hidden: Tensor,
               w_h_scale: float, bias_inputs: Tensor, b_scale: float, bias_hidden: Tensor) -> Tensor:  # fmt: skip
    check(inputs.shape[1] == 1, f"cadence::quantized_w8a32_gru: expected one time step, found {inputs.shape[1]}")
    return hidden.new_empty((2, inputs.shape[0], inputs.shape[1], hidden.shape[-1]), dtype=torch.float32)


@operator("quantized_w8a32_gru",
          "Tensor inputs, Tensor hidden, Tensor weights_inputs, float w_i_scale, Tensor weights_hidden, "
          "float w_h_scale, Tensor bias_inputs, float b_scale, Tensor bias_hidden", _gru_shape)  # fmt: skip
def quantized_w8a32_gru(inputs: Tensor, hidden: Tensor, weights_inputs: Tensor, w_i_scale: float,
                        weights_hidden: Tensor, w_h_scale: float, bias_inputs: Tensor, b_scale: float,
                        bias_hidden: Tensor) -> Tensor:  # fmt: skip
    """Computes one time step. The result contains the output and the new hidden state, which are equal."""
    name = "quantized_w8a32_gru"
    integers = {"weights_inputs": weights_inputs, "weights_hidden": weights_hidden,
                "bias_inputs": bias_inputs, "bias_hidden": bias_hidden}  # fmt: skip
    for argument, tensor in integers.items():
        check_dtype(name, argument, tensor, torch.int8)
    for argument, tensor in {"inputs": inputs, "hidden": hidden}.items():
        check_dtype(name, argument, tensor, torch.float32)
    for dim, size in enumerate(hidden.shape[:-1]):
        check(size == 1, f"Leading dimension {dim} of hidden state must be 1, got {size}")
    state = hidden.reshape(-1)
    check(len(state) % _LANES == 0, f"Hidden dimension must be a multiple of {_LANES}, found {len(state)}")
    from_input = F.linear(inputs, weights_inputs.float() * w_i_scale, bias_inputs.float() * b_scale)
    from_state = F.linear(state, weights_hidden.float() * w_h_scale, bias_hidden.float() * b_scale)
    (reset, update, new), (state_reset, state_update, state_new) = from_input.chunk(3, -1), from_state.chunk(3, -1)
    kept = torch.sigmoid(update + state_update)
    candidate = torch.tanh(new + torch.sigmoid(reset + state_reset) * state_new)
    result = ((1 - kept) * candidate + kept * state).reshape(-1, 1, len(state)).expand(*inputs.shape[:2], len(state))
    return torch.stack([result, result])
