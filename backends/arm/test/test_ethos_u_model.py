# SPDX-License-Identifier: BSD-3-Clause
"""The model of the Ethos-U computes what the TOSA reference model computes, in every bit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from ethos_u_cases import MODELS, OPERATORS
from ethos_u_model import assert_equals_reference, compiled, program, run_stream, values, write_stream

from sdk.backends.arm.ethosu import EthosUCompileSpec
from sdk.backends.arm.ethosu.stream import VelaStream
from sdk.backends.arm.ethosu.vela import compile_graph
from sdk.backends.arm.tosa.schema import DType

U55 = EthosUCompileSpec("ethos-u55-128")


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    model, inputs = MODELS[name]()
    assert_equals_reference(compiled(model, inputs, U55), U55, range(2))


@pytest.mark.parametrize("name", ["strided", "depthwise", "linear"])
def test_weights_of_four_bits(name: str) -> None:
    """Vela reads TOSA's int4 weights."""
    lowered = compiled(*OPERATORS[name](), U55, bits=4)
    tensors = lowered.files[0].regions[0].blocks[0].tensors
    assert any(each.type == DType.INT4 and len(each.shape) > 1 for each in tensors)
    assert_equals_reference(lowered, U55, range(2))


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
    """Damaged commands are errors. AddressSanitizer would report an access outside of the regions."""
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
