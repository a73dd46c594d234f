# SPDX-License-Identifier: BSD-3-Clause
"""The seven modes of quantising for OpenVINO."""

from __future__ import annotations

from enum import Enum

import torch
from torchao.quantization.pt2e.quantizer import QuantizationConfig

from sdk.backends.quantizer.configuration import activations, weights


class QuantizationMode(Enum):
    """Weights have a scale for each output channel, or for each group of inputs with int4. WO: weights only."""

    INT8_SYM = "int8_sym"
    """int8 weights, int8 activations symmetric around zero."""
    INT8_MIXED = "int8_mixed"
    """int8 weights symmetric around zero, int8 activations with a zero point."""
    INT8_TRANSFORMER = "int8_transformer"
    """Like INT8_MIXED, but only for convolutions and linear layers: additions, norms and attention stay in floats."""
    INT8WO_SYM = "int8wo_sym"
    INT8WO_ASYM = "int8wo_asym"
    INT4WO_SYM = "int4wo_sym"
    INT4WO_ASYM = "int4wo_asym"

    @property
    def is_weights_only(self) -> bool:
        return "wo_" in self.value

    @property
    def is_symmetric(self) -> bool:
        return self.value.endswith("_sym")

    @property
    def bits(self) -> int:
        return int(self.value.removeprefix("int")[0])


def configuration(mode: QuantizationMode, overflow_fix: bool) -> QuantizationConfig:
    """Returns the configuration of a mode that quantises activations. Such modes need calibration.

    With `overflow_fix` weights have 7 bits. CPUs without VNNI multiply unsigned by signed bytes and add pairs
    of products in int16 (vpmaddubsw), which saturates: 2 * 255 * 127 is more than 32767, 2 * 255 * 63 is not.
    """
    limit = 63 if overflow_fix else 127
    scheme = torch.per_tensor_symmetric if mode.is_symmetric else torch.per_tensor_affine
    activation = activations(-128, 127, eps=2**-12, scheme=scheme)
    weight = weights(-limit, limit, eps=2**-24)
    # Results stay in floats: the next layer quantises what it reads.
    return QuantizationConfig(activation, None, weight, None, False)
