# SPDX-License-Identifier: BSD-3-Clause
"""The configurations of the quantizers of all backends."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import torch
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    PlaceholderObserver,
)

MODULES = (
    "sdk.backends.xnnpack.quantizer.xnnpack_quantizer",
    "sdk.backends.arm.quantizer",
    "sdk.backends.vulkan.quantizer.vulkan_quantizer",
)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_equal_arguments_give_equal_configurations(module: str, is_dynamic: bool) -> None:
    """torchao annotates an operator only if the configurations of its parts are equal."""
    make = import_module(module).get_symmetric_quantization_config
    assert make(is_dynamic=is_dynamic) == make(is_dynamic=is_dynamic)
    assert make(is_dynamic=is_dynamic) != make(is_dynamic=not is_dynamic)
    config = make(is_dynamic=is_dynamic, weight_qmin=-7, weight_qmax=7)
    assert (config.weight.quant_min, config.weight.quant_max, config.weight.dtype) == (-7, 7, torch.int8)
    assert is_dynamic is False or (config.input_activation.is_dynamic and config.output_activation is None)


def _kinds(spec: Any) -> tuple[Any, Any, Any]:
    """Returns the kind of observer, how it finds the range, and the smallest scale."""
    keywords = spec.observer_or_fake_quant_ctr.p.keywords
    inner = getattr(keywords.get("observer"), "__name__", None)
    return spec.observer_or_fake_quant_ctr.p.func, inner, keywords["eps"]


@pytest.mark.parametrize(("is_per_channel", "name"), [(True, "PerChannelMinMaxObserver"), (False, "MinMaxObserver")])
def test_observers_of_calibration_and_of_training(is_per_channel: bool, name: str) -> None:
    xnnpack, arm = (import_module(module).get_symmetric_quantization_config for module in MODULES[:2])
    for make, eps, training in (
        (xnnpack, 2**-12, (FusedMovingAvgObsFakeQuantize, f"MovingAverage{name}")),
        (arm, 2**-16, (FakeQuantize, name)),
    ):
        calibrated = make(is_per_channel=is_per_channel)
        assert _kinds(calibrated.input_activation) == (HistogramObserver, None, eps)
        assert _kinds(calibrated.weight)[0].__name__ == name and _kinds(calibrated.weight)[2] == eps
        assert _kinds(make(is_dynamic=True).input_activation) == (PlaceholderObserver, None, eps)
        trained = make(is_per_channel=is_per_channel, is_qat=True)
        assert _kinds(trained.input_activation) == (FusedMovingAvgObsFakeQuantize, None, eps)
        assert _kinds(trained.weight) == (*training, eps) and trained.is_qat
