# SPDX-License-Identifier: BSD-3-Clause
"""Whole models in floats: one delegate each, which the reference model computes."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from arm_lowering import assert_close, lower
from torch import Tensor, nn

from sdk.backends.graph.names import name_of
from sdk.exir.backend.utils import get_non_lowered_nodes
from zoo import CASES

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
TRANSPOSES = {"mobilenet": 1, "resnet": 1, "unet": 2, "autoencoder": 4, "convs_1d_2d_3d": 6}


@pytest.mark.parametrize("name", TRANSPOSES)
def test_convolutions(name: str) -> None:
    """Transposes remain only at the inputs and outputs and where the model itself reshapes."""
    method = CASES[name]().methods["forward"]
    lowered = lower(method.module, method.calls[0])
    assert not lowered.left() and len(lowered.payloads) == 1
    assert lowered.operators["TRANSPOSE"] <= TRANSPOSES[name]
    with torch.no_grad():
        assert_close(lowered.run(*method.calls[0]), method.module(*method.calls[0]))


def _with_norm(convolution: nn.Module) -> nn.Module:
    norm = nn.BatchNorm2d(8)
    with torch.no_grad():
        for tensor in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
            tensor.copy_(torch.linspace(0.5, 2.0, 8))
    return nn.Sequential(convolution, norm).eval()


class _Both(nn.Module):
    """A further operator reads the result of the convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = _with_norm(nn.Conv2d(4, 8, 3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.convolution(x)
        return self.norm(y) + y


@pytest.mark.parametrize(
    ("model", "is_folded"),
    [
        (_with_norm(nn.Conv2d(4, 8, 3)), True),
        (_with_norm(nn.Conv2d(4, 8, 3, bias=False)), True),
        (_with_norm(nn.Conv2d(4, 8, 3, groups=4)), True),
        (_with_norm(nn.ConvTranspose2d(4, 8, 3, 2)), True),
        (_with_norm(nn.Conv2d(4, 8, 3, groups=2)), False),
        (_Both(), False),
    ],
    ids=["with a bias", "without a bias", "depthwise", "transposed", "in groups", "read elsewhere"],
)
def test_norms_are_weights_of_convolutions(model: nn.Module, is_folded: bool) -> None:
    x = torch.randn(2, 4, 9, 11)
    lowered = lower(model, (x,))
    assert (lowered.operators["MUL"] == 0) == is_folded
    with torch.no_grad():
        assert_close(lowered.run(x), model(x))


def test_a_vision_transformer() -> None:
    """A model with attention and layer norms is one delegate."""
    method = CASES["vit"]().methods["forward"]
    lowered = lower(method.module, method.calls[0])
    assert not lowered.left() and len(lowered.payloads) == 1
    with torch.no_grad():
        assert_close(lowered.run(*method.calls[0]), method.module(*method.calls[0]))


def example_model(path: str) -> Any:
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_encoder() -> None:
    """Token ids and mask are int64, so that PyTorch computes the embedding lookup and the conversion of the mask."""
    method = CASES["encoder"]().methods["forward"]
    _check_encoder(method.module, method.calls[0])


def _check_encoder(encoder: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    """Checks that there is one delegate, and that only operators on int64 and those that convert ids and the mask to
    floats stay outside."""
    lowered = lower(encoder, inputs)
    assert len(lowered.payloads) == 1
    left = [node for node in get_non_lowered_nodes(lowered.program.graph) if isinstance(node.meta.get("val"), Tensor)]
    floats = [node for node in left if node.meta["val"].dtype == torch.float32]
    names = {name_of(node) for node in floats}
    assert names == {"aten.embedding.default", "dim_order_ops._to_dim_order_copy.default"}
    with torch.no_grad():
        assert_close(lowered.run(*inputs), encoder(*inputs))


@pytest.mark.slow
def test_mobilenet_v2() -> None:
    """MobileNetV2 at its full size."""
    torch.manual_seed(0)
    model = example_model("mobilenet_v2/model.py").MobileNetV2().eval()
    x = torch.randn(1, 3, 224, 224)
    begin = time.process_time()
    lowered = lower(model, (x,))
    assert time.process_time() - begin < 120  # seconds
    assert not lowered.left() and len(lowered.payloads) == 1
    assert lowered.operators["TRANSPOSE"] == 1
    with torch.no_grad():
        assert_close(lowered.run(x), model(x))


@pytest.mark.slow
def test_minilm() -> None:
    """MiniLM with its trained weights."""
    tokens = torch.randint(1000, 20000, (2, 32))
    mask = torch.ones(2, 32, dtype=torch.int64)
    mask[1, 20:] = 0
    _check_encoder(example_model("minilm/model.py").sentence_encoder(), (tokens, mask))
