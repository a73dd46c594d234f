# SPDX-License-Identifier: BSD-3-Clause
"""Programs for an Ethos-U in the runtime, whose driver is the model of the NPU: every bit is that of the TOSA reference
model."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from arm_lowering import Lowered, lower
from ethos_u_cases import MODELS, OPERATORS, InvertedResidual
from ethos_u_model import quantized, run_stream, values
from torch import Tensor, nn

from delegate_calls import check_wrong_counts
from sdk.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from sdk.backends.arm.ethosu.stream import VelaStream
from sdk.export import export as export_by_recipe
from sdk.export.cli import main as export_command
from sdk.extension.pybindings.portable_lib import (
    _get_registered_backend_names,
    _is_available,
    _load_for_executorch_from_buffer,
)
from sdk.run.__main__ import main as run_command

U55 = EthosUCompileSpec("ethos-u55-128")


def _lowered(model: nn.Module, inputs: tuple[Tensor, ...], spec: EthosUCompileSpec = U55, bits: int = 8) -> Lowered:
    """Quantises and lowers a model, which must become one delegate."""
    lowered = lower(quantized(model, inputs, spec, bits), inputs, partitioner=EthosUPartitioner(spec))
    assert len(lowered.payloads) == 1, lowered.left()
    return lowered


def _check(model: nn.Module, inputs: tuple[Tensor, ...], spec: EthosUCompileSpec = U55, bits: int = 8) -> Lowered:
    """Checks that the program's results equal those of the TOSA file in the reference model, also for other inputs."""
    converted = quantized(model, inputs, spec, bits)
    ours = lower(converted, inputs, partitioner=EthosUPartitioner(spec))
    reference = lower(converted, inputs, str(spec.tosa_spec))
    assert len(ours.payloads) == len(reference.payloads) == 1, ours.left()
    program = _load_for_executorch_from_buffer(ours.edge.to_executorch().buffer)
    for scale in (1, 3):
        given = tuple(scale * torch.randn_like(each) for each in inputs)
        found, expected = program.forward(given), reference.run(*given)
        assert all(tensor.unique().numel() > 1 for tensor in expected)
        assert all(map(torch.equal, found, expected)) and len(found) == len(expected)
    return ours


def test_the_backend_is_registered_and_available() -> None:
    """ETU-12"""
    assert "EthosUBackend" in _get_registered_backend_names()
    assert _is_available("EthosUBackend")


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    """ETU-01: the results of a loaded `.pte` equal those of the reference model."""
    _check(*MODELS[name]())


RUN = ("depthwise", "strided", "linear", "max_pool", "avg_pool_padded", "add_broadcast", "softmax", "layer_norm", "cat",
       "bmm", "gelu", "slice")  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", RUN)
def test_operators(name: str) -> None:
    """ETU-01, ETU-06"""
    _check(*OPERATORS[name]())


@pytest.mark.parametrize(
    ("target", "mode", "bits"),
    [
        ("ethos-u55-32", "Sram_Only", 8),
        ("ethos-u55-256", "Shared_Sram", 16),
        ("ethos-u65-256", "Dedicated_Sram_384KB", 8),
        ("ethos-u65-512", "Dedicated_Sram_512KB", 8),
    ],
)
def test_targets_and_memory_modes(target: str, mode: str, bits: int) -> None:
    """ETU-01, ETU-14: the model of the NPU has memory for the dedicated modes."""
    _check(*OPERATORS["max_pool"](), EthosUCompileSpec(target, memory_mode=mode), bits)


@pytest.mark.parametrize(("name", "last", "first"), [("convolution", 0, 32), ("block", 0, 33), ("network", 1, 1)])
def test_channels_last_needs_no_transpose(name: str, last: int, first: int) -> None:
    """ETU-16: inputs and outputs of a program with the channels last are not transposed. With the channels first,
    inputs of few channels are transposed by a convolution; Vela transposes others and the outputs by pools. The mean
    of the network is a pool, too."""
    model, (image,) = {
        "convolution": lambda: (nn.Conv2d(8, 16, 3, padding=1), (torch.randn(1, 8, 16, 16),)),
        "block": lambda: (InvertedResidual(16), (torch.randn(1, 16, 16, 16),)),
        "network": MODELS["mobile"],
    }[name]()
    for layout, most in ((torch.channels_last, last), (torch.contiguous_format, first)):
        lowered = _check(model.to(memory_format=layout), (image.to(memory_format=layout),))
        stream = VelaStream.from_bytes(lowered.payloads[0])
        found = run_stream(stream, [values(edge.shape, torch.int8, 1) for edge in stream.inputs])
        assert found.commands["pool"] <= most and found.commands["convolution"] > 0


def test_several_delegates() -> None:
    """Two programs in one process are called in turn, and each repeats its first results."""
    programs = []
    for name in ("add", "convolution"):
        model, inputs = OPERATORS[name]()
        lowered = _lowered(model, inputs)
        program = _load_for_executorch_from_buffer(lowered.edge.to_executorch().buffer)
        programs.append((program, inputs, program.forward(inputs)))
    for program, inputs, first in programs * 2:
        assert all(map(torch.equal, program.forward(inputs), first))


def test_calls_with_wrong_arguments() -> None:
    model, inputs = OPERATORS["add"]()
    check_wrong_counts(_lowered(model, inputs).edge.to_executorch().buffer, inputs)


def _message(payload: bytes, replaced: bytes, program: bytes, inputs: tuple[Tensor, ...]) -> str:
    assert len(replaced) == len(payload)
    with pytest.raises(RuntimeError) as raised:
        _load_for_executorch_from_buffer(program.replace(payload, replaced)).forward(inputs)
    return str(raised.value)


def test_programs_for_another_npu_are_refused_when_they_are_loaded() -> None:
    """Each program that the model cannot compute is refused with one sentence before anything runs."""
    model, inputs = OPERATORS["add"]()
    lowered = _lowered(model, inputs)
    (payload,) = lowered.payloads
    program = lowered.edge.to_executorch().buffer
    at = payload.index(b"COP1") + 8
    (configuration,) = struct.unpack_from("<I", payload, at)
    for product, name, known in ((0, 55, (32, 64, 128, 256)), (1, 65, (256, 512)), (2, 85, ())):
        for exponent in range(4, 12):
            word = configuration & 0x0FFFFFF0 | product << 28 | exponent
            other = program.replace(payload, payload[:at] + struct.pack("<I", word) + payload[at + 4 :])
            if 1 << exponent in known:
                _load_for_executorch_from_buffer(other)
                continue
            with pytest.raises(RuntimeError) as raised:
                _load_for_executorch_from_buffer(other)
            assert f"the program is for an Ethos-U{name} with {1 << exponent} products a cycle" in str(raised.value)
            assert "the driver runs the model of the NPU: Ethos-U55 with 32 to 256" in str(raised.value)


def test_a_program_for_an_ethos_u85() -> None:
    """A program that the exporter writes for an Ethos-U85 is refused, too."""
    spec = EthosUCompileSpec("ethos-u85-256")
    model, inputs = OPERATORS["convolution"]()
    with pytest.raises(RuntimeError, match="the program is for an Ethos-U85 with 256 products a cycle"):
        _load_for_executorch_from_buffer(_lowered(model, inputs, spec).edge.to_executorch().buffer)


def test_damaged_payloads_are_one_sentence() -> None:
    model, inputs = OPERATORS["add"]()
    lowered = _lowered(model, inputs)
    (payload,) = lowered.payloads
    program = lowered.edge.to_executorch().buffer
    assert program.count(payload) == 1
    text = _message(payload, payload.replace(b"vela_bin_stream", b"vela_bin_strean"), program, inputs)
    assert "it does not begin with the block vela_bin_stream" in text
    text = _message(payload, payload.replace(b"COP1", b"COP2"), program, inputs)
    assert "the commands do not begin with COP1" in text


def test_the_work_of_the_model_is_limited(tmp_path: Path) -> None:
    """A stream may need years of work; a variable of the environment sets a limit."""
    lowered = _lowered(*OPERATORS["convolution"]())
    path = tmp_path / "model.pte"
    path.write_bytes(lowered.edge.to_executorch().buffer)
    command = [os.environ["SDK_EXECUTOR_RUNNER"], "--model_path", str(path)]
    limited = {**os.environ, "ETHOS_U_MODEL_MAX_STEPS": "1000"}
    done = subprocess.run(command, capture_output=True, text=True, env=limited)
    assert done.returncode != 0
    assert "the commands need more than 1000 steps of the model of the NPU" in done.stderr
    assert "set ETHOS_U_MODEL_MAX_STEPS to more than 1000" in done.stderr
    subprocess.run(command, check=True, capture_output=True)


MODEL = """
import torch
def model():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)).eval()
"""


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """ETU-11: `--backend ethos-u --quantize int8` verifies by computing, and `sdk run` runs what it wrote."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(MODEL)
    command = ["m.py:model", "--input", "1x3x10x10:float32", "--backend", "ethos-u", "--quantize", "int8"]
    assert export_command(command) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1 call to EthosUBackend" in text and "verified equal to PyTorch: 384 elements in 3 calls" in text
    assert run_command(["model.pte", "--input", "ones", "--output", "y.npy"]) == 0
    assert np.load(tmp_path / "y.npy").shape == (1, 8, 4, 4)


@pytest.mark.parametrize(
    ("recipe", "options", "target", "element_size"),
    [
        ("U55_INT8", {}, "ethos-u55-128", 1),
        ("U55_A16W8", {"macs": 256, "memory_mode": "Sram_Only"}, "ethos-u55-256", 2),
        ("U65_INT8", {"macs": 512, "is_per_channel": False}, "ethos-u65-512", 1),
    ],
)
def test_recipes(recipe: str, options: dict[str, Any], target: str, element_size: int) -> None:
    """ETU-04, ETU-05: the recipes quantise and lower for their family."""
    from sdk.backends.arm.ethosu.recipes import EthosURecipeType
    from sdk.export import ExportRecipe

    model, inputs = OPERATORS["relu"]()
    session = export_by_recipe(model, [inputs], ExportRecipe.get_recipe(EthosURecipeType[recipe], **options))
    buffer = session.get_pte_buffer()
    stream = VelaStream.from_bytes(buffer[buffer.index(b"vela_bin_stream") :])
    assert 1 << (stream.commands[8] & 15) == int(target.rpartition("-")[2])
    assert {edge.element_size for edge in (*stream.inputs, *stream.outputs)} == {element_size}
    (result,) = _load_for_executorch_from_buffer(buffer).forward(inputs)
    torch.testing.assert_close(result, model(*inputs), atol=0.1, rtol=0)
