# SPDX-License-Identifier: BSD-3-Clause
"""Models of the examples."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.examples.models import MODEL_NAME_TO_MODEL, Model
from sdk.examples.models.model_base import EagerModelBase
from sdk.examples.models.model_factory import EagerModelFactory
from sdk.exir import to_edge
from sdk.extension.llm.export.config.llm_config import LlmConfig
from sdk.runtime import Runtime

EXPECTED: dict[str, Callable[..., Any]] = {
    "mul": lambda model, a, b: a * b,
    "linear": lambda model, x: x @ model.linear.weight.T + model.linear.bias,
    "add": lambda model, a, b: a + b,
    "add_mul": lambda model, a, x, b: torch.full((2, 2), 7.0),
    "softmax": lambda model, x: torch.full((2, 2), 0.5),
    "conv1d": lambda model, x: torch.conv1d(x, model.conv1d.weight, model.conv1d.bias, padding=1),
    "sdpa": lambda model, q, k, v: torch.softmax(q.float() @ k.float().mT / 8, -1) @ v.float(),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_toys(name: str) -> None:
    torch.manual_seed(0)
    model, inputs, named, shapes = EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL[name])
    assert issubclass(type(model), EagerModelBase) and named is None and shapes is None
    program = to_edge(torch.export.export(model.eval(), inputs)).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    assert method is not None
    tolerance = 0.02 if name == "sdpa" else 1e-5
    expected = EXPECTED[name](model, *inputs).to(inputs[0].dtype)
    torch.testing.assert_close(method.execute(list(inputs))[0], expected, rtol=tolerance, atol=tolerance)


def test_a_compile_spec_and_models_that_are_not_there() -> None:
    model, *_ = EagerModelFactory.create_model("toy_model", "AddMulModule")
    (spec,) = model.get_compile_spec()
    assert (spec.key, spec.value) == ("max_value", b"\x02")
    with pytest.raises(ValueError, match="has no model 'CosModule'"):
        EagerModelFactory.create_model("toy_model", "CosModule")
    with pytest.raises(ModuleNotFoundError):
        EagerModelFactory.create_model("no_model", "X")


@pytest.mark.parametrize("name", Model)
def test_every_name_is_a_model(name: Model) -> None:
    module, kind = MODEL_NAME_TO_MODEL[str(name)]
    model = getattr(importlib.import_module(f"sdk.examples.models.{module}"), kind)
    assert issubclass(model, EagerModelBase) and not inspect.isabstract(model)
    assert sorted(MODEL_NAME_TO_MODEL) == sorted(map(str, Model))


PICTURES = {
    "mv2": ("mobilenet_v2", 224),
    "mv2_untrained": ("mobilenet_v2", 224),
    "mv3": ("mobilenet_v3_small", 224),
    "ic3": ("inception_v3", 224),
    "ic4": ("inception_v4", 299),
    "vit": ("vit_b_16", 224),
    "dl3": ("deeplabv3_resnet50", 224),
    "deit_tiny": ("deit_tiny_patch16_224", 224),
    "resnet18": ("resnet18", 224),
    "resnet50": ("resnet50", 224),
}


@pytest.mark.parametrize("name", PICTURES)
def test_models_of_pictures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The requested model of torchvision or timm, and whether with weights. Neither library is installed here."""
    library = types.ModuleType("torchvision.models")
    library.get_model = lambda name, weights: (name, weights == "DEFAULT")
    monkeypatch.setitem(sys.modules, "torchvision.models", library)
    timm = types.ModuleType("timm")
    timm.create_model = lambda name, pretrained: (name, pretrained)
    monkeypatch.setitem(sys.modules, "timm", timm)
    model, inputs, _, _ = EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL[name])
    expected, size = PICTURES[name]
    assert model == (expected, name != "mv2_untrained") and inputs[0].shape == (1, 3, size, size)


def test_a_recurrent_network() -> None:
    model, inputs, _, _ = EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL["lstm"])
    output, (hidden, cells) = model.eval()(*inputs)
    reference = torch.nn.LSTM(10, 20, 2)
    weights = dict(model.named_parameters())
    for layer in range(2):
        for ours, theirs in (("igates", "ih"), ("hgates", "hh")):
            for kind in ("weight", "bias"):
                value = weights[f"layers.{layer}.layer_fw.cell.{ours}.{kind}"]
                getattr(reference, f"{kind}_{theirs}_l{layer}").data.copy_(value)
    expected, states = reference(*inputs)
    for found, wanted in zip((output, hidden, cells), (expected, *states), strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", ["qwen2_5_1_5b", "qwen3", "phi_4_mini", "smollm2"])
def test_language_models_take_settings(name: str, tmp_path: Path) -> None:
    params = tmp_path / "params.json"
    params.write_text('{"dim": 8, "n_layers": 1, "n_heads": 2, "vocab_size": 16, "hidden_dim": 8}')
    settings = LlmConfig()
    settings.base.params = str(params)
    model, inputs, _, _ = EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL[name], llm_config=settings)
    assert model(*inputs).shape[-1] == 16


def test_whisper_of_a_folder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.WhisperConfig(
        vocab_size=20, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=8, decoder_ffn_dim=8, num_mel_bins=4, max_source_positions=10,
        max_target_positions=8, decoder_start_token_id=3, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.WhisperModel(config).eval().save_pretrained(tmp_path)
    model, inputs, _, _ = EagerModelFactory.create_model("whisper", "WhisperModel", model_name=str(tmp_path))
    assert [list(each.shape) for each in inputs] == [[1, 4, 20], [1, 1]] and inputs[1].item() == 3
    assert model(*inputs).shape == (1, 1, 16)
