# SPDX-License-Identifier: BSD-3-Clause
"""The model of the Ethos-U computes what the TOSA reference model computes, in every bit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from arm_lowering import Call
from ethos_u_model import assert_equals_reference, compiled, program, run_stream, values, write_stream
from torch import Tensor, nn

from sdk.backends.arm.ethosu import EthosUCompileSpec
from sdk.backends.arm.ethosu.stream import VelaStream
from sdk.backends.arm.ethosu.vela import PACKAGES, compile_graph

U55 = EthosUCompileSpec("ethos-u55-128")
Model = tuple[nn.Module, tuple[Tensor, ...]]


def _of(function: Any, *shapes: tuple[int, ...], scale: float = 1.0) -> Callable[[], Model]:
    module = function if isinstance(function, nn.Module) else Call(function)
    return lambda: (module, tuple(torch.randn(shape) * scale for shape in shapes))


OPERATORS: dict[str, Callable[[], Model]] = {
    "convolution": _of(nn.Conv2d(3, 8, 3), (1, 3, 9, 9)),
    "pointwise": _of(nn.Conv2d(16, 24, 1), (1, 16, 5, 7)),
    "strided": _of(nn.Conv2d(40, 70, 3, padding=1, stride=2), (1, 40, 11, 9)),
    "dilated": _of(nn.Conv2d(4, 8, 3, dilation=2), (1, 4, 11, 9)),
    "wide": _of(nn.Conv2d(33, 17, (1, 9), padding=(0, 4)), (1, 33, 3, 20)),
    "large": _of(nn.Conv2d(2, 3, 11, padding=5), (1, 2, 13, 12)),
    "one_dimension": _of(nn.Conv1d(6, 8, 3, padding=1), (1, 6, 12)),
    "depthwise_of_one_dimension": _of(nn.Conv1d(6, 6, 3, groups=6), (1, 6, 12)),
    "grouped": _of(nn.Conv2d(8, 12, 3, groups=2), (1, 8, 7, 7)),
    "depthwise": _of(nn.Conv2d(16, 16, 3, groups=16, padding=1), (1, 16, 8, 8)),
    "depthwise_strided": _of(nn.Conv2d(20, 20, 5, groups=20, stride=2), (1, 20, 11, 11)),
    "linear": _of(nn.Linear(20, 30), (4, 20)),
    "linear_without_bias": _of(nn.Linear(130, 7, bias=False), (1, 130)),
    "relu": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), (1, 3, 9, 9)),
    "relu6": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU6()), (1, 3, 9, 9)),
    "max_pool": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(3, 2, 1)), (1, 3, 10, 10)),
    "avg_pool": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.AvgPool2d(3)), (1, 3, 11, 11)),
    "avg_pool_padded": _of(
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.AvgPool2d(3, 2, 1, count_include_pad=False)), (1, 3, 11, 11)
    ),
    "adaptive_pool": _of(nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1)), (1, 3, 11, 11)),
    "transposed": _of(nn.ConvTranspose2d(4, 6, 3, stride=2), (1, 4, 5, 5)),
    "upsample": _of(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=2)), (1, 3, 7, 7)),
    "add": _of(lambda a, b: a + 3 * b, (1, 8, 5, 5), (1, 8, 5, 5)),
    "add_broadcast": _of(lambda a, b: a + b, (1, 8, 5, 5), (1, 8, 1, 5)),
    "add_number": _of(lambda a: a + 1.5, (2, 3, 4)),
    "sub": _of(lambda a, b: 4 * a - b, (1, 8, 5, 5), (1, 8, 1, 1)),
    "sub_reversed": _of(lambda a, b: b - a, (1, 8, 5, 5), (1, 1, 5, 1)),
    "mul": _of(lambda a, b: a * b, (1, 8, 5, 5), (1, 8, 5, 5)),
    "mul_broadcast": _of(lambda a, b: a * b, (2, 6, 16), (2, 6, 1)),
    "maximum": _of(torch.maximum, (1, 8, 5, 6), (1, 8, 5, 6)),
    "minimum": _of(torch.minimum, (1, 8, 5, 6), (1, 8, 5, 6), scale=2.0),
    "abs": _of(torch.abs, (1, 8, 5, 6)),
    "neg": _of(lambda x: -x, (3, 17)),
    "clamp": _of(lambda x: x.clamp(-0.5, 1.0), (3, 17)),
    "sigmoid": _of(torch.sigmoid, (1, 8, 5, 5), scale=3.0),
    "tanh": _of(torch.tanh, (1, 8, 5, 5)),
    "exp": _of(torch.exp, (1, 8, 5)),
    "gelu": _of(F.gelu, (4, 33)),
    "silu": _of(F.silu, (4, 33)),
    "leaky_relu": _of(nn.LeakyReLU(0.1), (1, 8, 5, 5)),
    "hardswish": _of(nn.Hardswish(), (1, 8, 5, 5), scale=3.0),
    "elu": _of(nn.ELU(), (5, 9)),
    "rsqrt": _of(lambda x: torch.rsqrt(x * x + 0.1), (2, 6, 16)),
    "softmax": _of(lambda x: F.softmax(x, -1), (1, 8, 5, 10)),
    "log_softmax": _of(lambda x: F.log_softmax(x, -1), (3, 10)),
    "layer_norm": _of(nn.LayerNorm(16), (2, 6, 16)),
    "mean": _of(lambda x: x.mean((2, 3)), (1, 8, 5, 10)),
    "mean_last": _of(lambda x: x.mean(-1, keepdim=True), (2, 6, 16)),
    "sum": _of(lambda x: x.sum(-1), (1, 8, 5, 10)),
    "cat": _of(lambda a, b: torch.cat([a, b], 1), (1, 8, 5, 5), (1, 3, 5, 5)),
    "permute": _of(lambda x: x.permute(0, 2, 3, 1) + 1, (1, 8, 5, 6)),
    "reshape": _of(lambda x: (x + 1).reshape(4, 10), (1, 8, 5)),
    "slice": _of(lambda x: x[:, 1:6:2] * 2, (1, 8, 5, 4)),
    "pad": _of(lambda x: F.pad(x * 2, (1, 2, 0, 1)), (1, 3, 4, 5)),
    "expand": _of(lambda x: x.expand(1, 6, 5) * 2, (1, 1, 5)),
    "bmm": _of(torch.bmm, (2, 4, 8), (2, 8, 5)),
}

ONLY_8_BITS = ("transposed", "hardswish", "bmm", "exp")


@pytest.mark.sampled
@pytest.mark.parametrize("target", ["ethos-u55-32", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_8_bits(name: str, target: str) -> None:
    """ETU: operators in int8 on every U55 and U65 equal the TOSA reference model, extremes of the inputs included."""
    spec = EthosUCompileSpec(target)
    model, inputs = OPERATORS[name]()
    assert assert_equals_reference(compiled(model, inputs, spec), spec)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in ONLY_8_BITS])
def test_operators_of_16_bits(name: str) -> None:
    """The same with activations in int16 and weights in int8."""
    model, inputs = OPERATORS[name]()
    assert assert_equals_reference(compiled(model, inputs, U55, 16), U55)


class InvertedResidual(nn.Sequential):
    """A block of MobileNetV2."""

    def __init__(self, channels: int) -> None:
        wide = 6 * channels
        super().__init__(
            nn.Conv2d(channels, wide, 1),
            nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide),
            nn.ReLU6(),
            nn.Conv2d(wide, channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


def _transformer() -> Model:
    block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="relu", batch_first=True)
    return block, (torch.randn(1, 6, 16),)


MODELS: dict[str, Callable[[], Model]] = {
    "mobile": _of(
        nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU6(), InvertedResidual(16), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(16, 10),
        ),
        (1, 3, 32, 32),
    ),
    "keywords": _of(
        nn.Sequential(
            nn.Conv2d(1, 16, (10, 4), stride=2, padding=(5, 1)), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.ReLU(), nn.Conv2d(16, 16, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 12), nn.Softmax(-1),
        ),
        (1, 1, 49, 10),
    ),
    "transformer": _transformer,
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    model, inputs = MODELS[name]()
    assert_equals_reference(compiled(model, inputs, U55), U55, range(2))


def test_the_other_release_of_vela(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vela runs in a process, whose path has the release that the step `arm` installs beside the first."""
    path = os.pathsep.join((os.environ["SDK_OTHER_VELA"], os.environ["PYTHONPATH"]))
    monkeypatch.setenv("PYTHONPATH", path)
    program = "from importlib.metadata import version; print(version('ethos-u-vela'))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert f"ethos-u-vela=={done.stdout.strip()}" in PACKAGES and f"ethos-u-vela=={done.stdout.strip()}" != PACKAGES[0]
    for name in ("mobile", "keywords"):
        model, inputs = MODELS[name]()
        assert_equals_reference(compiled(model, inputs, U55), U55, range(2))


def _convolution() -> VelaStream:
    torch.manual_seed(0)
    model, inputs = OPERATORS["strided"]()
    return compile_graph(compiled(model, inputs, U55).payloads[0], U55.compiler_flags).stream


def test_weights_are_decoded_as_velas_codec_does(tmp_path: Path) -> None:
    """Weights of every distribution: few values, many zeros, all values."""
    from ethosu import mlw_codec

    random = np.random.default_rng(0)
    kinds = (
        random.integers(-255, 256, 4000),
        random.choice([0, 0, 0, 0, 7], 4000),
        np.zeros(700, int),
        random.integers(-1, 2, 3000),
        np.round(random.normal(0, 20, 70000)).astype(int),
        random.choice([-128, 127], 33),
    )
    for weights in kinds:
        stream = mlw_codec.encode([int(each) for each in weights])
        expected = mlw_codec.decode(bytearray(stream))[: len(weights)]
        assert list(expected) == list(weights)
        (tmp_path / "stream").write_bytes(stream)
        command = [program(), "--weights", tmp_path / "stream", str(len(weights))]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert [int(each) for each in found.split()] == list(weights)


def test_damaged_commands_are_errors(tmp_path: Path) -> None:
    """No access outside of the regions, which AddressSanitizer would see, and no crash."""
    command = [program(), *write_stream(_convolution(), tmp_path), "--damage", "150"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert 0 < int(done.stdout) < 150


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"COP2" + data[4:], "do not begin with COP1"),
        (lambda data: data[:-4], "a stream of"),
        (lambda data: data[:8] + (0x20000008).to_bytes(4, "little") + data[12:], "for another NPU (product 2)"),
        (lambda data: data[:8] + (0x1801).to_bytes(4, "little") + data[12:], "which does not exist"),
        (lambda data: data[:-4] + (0x3FF).to_bytes(4, "little"), "the command 0x3ff is unknown"),
        (lambda data: data[:-4] + (0x013).to_bytes(4, "little"), "end without a stop"),
    ],
)
def test_wrong_commands_are_named(change: Callable[[bytes], bytes], message: str) -> None:
    stream = _convolution()
    inputs = [values(edge.shape, torch.int8, 1) for edge in stream.inputs]
    with pytest.raises(RuntimeError, match=message.replace("(", r"\(").replace(")", r"\)")):
        run_stream(replace(stream, commands=change(stream.commands)), inputs)
    with pytest.raises(RuntimeError, match="region 1, which has 64 bytes"):
        run_stream(replace(stream, scratch_size=64, inputs=()), [])
