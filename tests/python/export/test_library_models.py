# SPDX-License-Identifier: BSD-3-Clause
"""Exports of models from transformers and torchvision."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from sdk.export.cli.errors import CommandError
from sdk.export.cli.model import load_model

Export = Callable[..., Any]


def test_a_checkpoint_of_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, export: Export) -> None:
    transformers = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    torch.manual_seed(0)
    transformers.BertForSequenceClassification(config).save_pretrained("tiny-bert")
    answer = export("transformers:./tiny-bert", "--input", "1x5:int64=0..49", "--report", "report.json")
    assert answer.status == 0, answer.err
    assert Path("tiny_bert.pte").exists()
    assert json.loads(Path("report.json").read_text())["methods"][0]["outputs"] == ["float32[1, 2]"]


def test_a_checkpoint_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(CommandError, match=r"There is no folder `\./nowhere`"):
        load_model("transformers:./nowhere")
    with pytest.raises(CommandError, match=r"transformers could not load `no/such`") as error:
        load_model("transformers:no/such")
    assert "a folder that save_pretrained() wrote" in str(error.value)


@pytest.fixture
def torchvision(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """torchvision as its documents describe it, with one model: the package itself may not fit to this torch."""
    calls = SimpleNamespace(weights="unset")

    class Tiny(nn.Module):
        def forward(self, image: torch.Tensor) -> torch.Tensor:
            return image.mean((2, 3))

    def get_model(name: str, weights: Any = None, **parts: Any) -> nn.Module:
        calls.weights = weights
        if weights is not None and calls.offline:
            raise OSError("no route to host")
        return Tiny()

    calls.offline = False
    default = SimpleNamespace(
        url="https://weights.invalid/tiny.pth",
        meta={"num_params": 0, "categories": ["a"]},
        transforms=lambda: SimpleNamespace(crop_size=[16]),
    )
    package: Any = ModuleType("torchvision")
    package.models = ModuleType("torchvision.models")
    package.models.detection = None
    package.models.list_models = lambda module=None: ["tiny_net"]
    package.models.get_model_weights = lambda name: SimpleNamespace(DEFAULT=default)
    package.models.get_model = get_model
    calls.default = default
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", package.models)
    return calls


def test_a_model_of_torchvision_has_its_pretrained_weights(torchvision: SimpleNamespace) -> None:
    model = load_model("torchvision:tiny_net")
    assert torchvision.weights is torchvision.default and model.name == "tiny_net"
    assert model.example_inputs is not None and model.example_inputs()[0].shape == (1, 3, 16, 16)
    load_model("torchvision:tiny_net@none")
    assert torchvision.weights is None


def test_a_model_of_torchvision_that_cannot_be_had(torchvision: SimpleNamespace) -> None:
    torchvision.offline = True
    with pytest.raises(CommandError) as error:
        load_model("torchvision:tiny_net")
    assert "OSError: no route to host" in str(error.value) and "torchvision:tiny_net@none" in str(error.value)
    with pytest.raises(CommandError, match=r"torchvision has no model `tiny_nut`. Did you mean `tiny_net`\?"):
        load_model("torchvision:tiny_nut")
    with pytest.raises(CommandError, match="expected `@none`, for random weights"):
        load_model("torchvision:tiny_net@imagenet")


def test_a_library_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    with pytest.raises(CommandError, match="`torchvision` could not be imported") as error:
        load_model("torchvision:resnet18")
    assert f"fits torch {torch.__version__}" in str(error.value)
