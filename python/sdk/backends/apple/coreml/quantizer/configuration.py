# SPDX-License-Identifier: BSD-3-Clause
"""Converts coremltools' `ModuleLinearQuantizerConfig` to the configuration of torchao's PT2E."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torchao.quantization.pt2e.quantizer import QuantizationConfig

from sdk.backends.quantizer.configuration import fake_quantized

_DTYPES = {torch.quint8: torch.uint8, torch.qint8: torch.int8}
"""The dtypes of captured graphs."""

_IS_MOVING = {"min_max": False, "moving_average_min_max": True}
"""Observers, and whether their range is a moving average."""


def configuration(module: Any) -> QuantizationConfig | None:
    """The configuration of a `ModuleLinearQuantizerConfig`; None if it leaves weights in floats.

    Raises:
        ValueError: it needs an algorithm, a bit width or an observer that PT2E's flow does not have.
    """
    if module is None or module.weight_dtype == torch.float32:
        return None
    if module.algorithm != "vanilla":
        raise ValueError(f'algorithm is {module.algorithm!r}; PT2E has "vanilla"')
    if module.weight_n_bits != 8:
        raise ValueError(
            f"weights have {module.weight_n_bits} bits; PT2E has 8. For 4 bits, quantise with "
            "torchao.quantization.quantize_ and IntxWeightOnlyConfig before the export"
        )
    for name in ("activation_observer", "weight_observer"):
        observer = getattr(module, name).value
        if observer not in _IS_MOVING:
            raise ValueError(f"{name} is {observer}; expected one of {', '.join(_IS_MOVING)}")
    return _configuration(
        module.quantization_scheme.value,
        None if module.activation_dtype == torch.float32 else module.activation_dtype,
        module.activation_observer.value,
        module.weight_dtype,
        module.weight_observer.value,
        module.weight_per_channel,
    )


@functools.cache  # torchao compares configurations by the identity of their observers
def _configuration(
    scheme: str,
    activation: torch.dtype | None,
    activation_observer: str,
    weight: torch.dtype,
    weight_observer: str,
    per_channel: bool,
) -> QuantizationConfig:
    is_symmetric = scheme == "symmetric"
    outputs = None
    if activation is not None:
        outputs = fake_quantized(_DTYPES[activation], is_symmetric=is_symmetric, moving=_IS_MOVING[activation_observer])
    weights = fake_quantized(
        _DTYPES[weight],
        is_per_channel=per_channel,
        is_symmetric=is_symmetric,
        moving=_IS_MOVING[weight_observer],
    )
    # is_qat suits calibration too: fake quantisation observes ranges. The batch norms that it joins to convolutions
    # occur only in training.
    return QuantizationConfig(outputs, outputs, weights, None, is_qat=True)
