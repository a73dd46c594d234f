# SPDX-License-Identifier: BSD-3-Clause
"""OpenVINO programs of this SDK and of the original, each in both runtimes, with the same release of OpenVINO."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from openvino_lowering import assert_close
from torch import nn

from bench.models import MODELS
from bench.worker import load_model
from interop.exchange import exchange
from interop.operator_calls import FAMILIES, Several
from sdk.backends.openvino.partitioner import OpenvinoPartitioner
from sdk.backends.openvino.quantizer import QuantizationMode, quantize_model

TOLERANCE = 1e-5


@pytest.fixture
def check(oracle: Callable[..., None], tmp_path: Path) -> Callable[..., None]:
    """Compares eager's results with those of four runs: programs of either side in either runtime. The original expects
    the path of the library, not of its folder. It uses OpenVINO's defaults, which quantise activations on CPUs with
    VNNI, and compute in bfloat16 on CPUs with it. So its process is restricted to AVX2, which has neither."""

    def call(models: dict[str, tuple[nn.Module, tuple[Any, ...]]]) -> None:
        (library,) = Path(os.environ["OPENVINO_LIB_PATH"]).glob("libopenvino_c.so*")
        with mock.patch.dict(os.environ, {"OPENVINO_LIB_PATH": str(library), "ONEDNN_MAX_CPU_ISA": "AVX2"}):
            for each in exchange(oracle, tmp_path, models, OpenvinoPartitioner, "openvino"):
                assert not each.error, f"{each.name}: {each.error}"
                assert each.delegates == ["OpenvinoBackend"], each.name
                for found in (each.ours_here, each.ours_there, each.theirs_here, each.theirs_there):
                    assert_close(found, each.eager, TOLERANCE)

    return call


def _several(calls: list[Any]) -> tuple[nn.Module, tuple[Any, ...]]:
    torch.manual_seed(0)
    model = Several(calls).eval()
    return model, model.inputs


def _int8(name: str) -> tuple[nn.Module, tuple[Any, ...]]:
    """A model with int8 weights, whose sums are of floats."""
    model, inputs = load_model(name)
    captured = torch.export.export(model, inputs).module()
    return quantize_model(captured, [inputs], mode=QuantizationMode.INT8WO_SYM), inputs


def test_both_ways(check: Callable[..., None]) -> None:
    """OVN-04, OVN-05: small models, one of them with int8 weights, and two operators of each family."""
    names = ("mobilenet", "resnet", "vit", "encoder")
    models = {name: load_model(f"zoo:{name}") for name in names}
    sample = [call for family, calls in FAMILIES.items() if family != "resizing" for call in calls[:2]]
    check({**models, "int8": _int8("zoo:vit"), "operators": _several(sample)})


@pytest.mark.slow
def test_100_operators(check: Callable[..., None]) -> None:
    """The original cannot lower `upsample_bilinear2d` for OpenVINO."""
    check({family: _several(calls) for family, calls in FAMILIES.items() if family != "resizing"})


@pytest.mark.slow
def test_models_of_full_size(check: Callable[..., None]) -> None:
    check({name: load_model(MODELS[name]) for name in ("MobileNetV2", "ResNet18", "ViT-tiny", "MiniLM")})
