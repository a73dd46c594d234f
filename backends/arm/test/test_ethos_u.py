# SPDX-License-Identifier: BSD-3-Clause
"""Ethos-U ahead of time: options, quantizer, TOSA files with its operators, and Vela's output for them."""

from __future__ import annotations

import logging
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import Call, Lowered, lower
from test_tosa_integers import steps
from torch import Tensor, nn
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

from interop.originals import InOriginal
from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.ethosu import EthosUBackend, EthosUCompileSpec, EthosUPartitioner, vela
from sdk.backends.arm.ethosu.stream import Edge, Timing, VelaStream
from sdk.backends.arm.quantizer import (
    EthosUQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from sdk.exir.lowered_backend_module import get_lowered_submodules

U55 = EthosUCompileSpec("ethos-u55-128")
TOSA_U55 = str(U55.tosa_spec)


def test_the_options() -> None:
    """ETU-02: by default, the sections of Vela's configuration are those of the family."""
    assert U55.compiler_flags == [
        "--accelerator-config=ethos-u55-128",
        "--config=Arm/vela.ini",
        "--output-format=raw",
        "--system-config=Ethos_U55_High_End_Embedded",
        "--memory-mode=Shared_Sram",
    ]
    spec = EthosUCompileSpec("ethos-u85-256", "Mine", "Dedicated_Sram", ["--verbose-all"], "mine.ini")
    assert spec.compiler_flags == [
        "--verbose-all",
        "--accelerator-config=ethos-u85-256",
        "--config=mine.ini",
        "--output-format=raw",
        "--system-config=Mine",
        "--memory-mode=Dedicated_Sram",
    ]
    assert [each.tosa_spec.is_U55_subset for each in (U55, EthosUCompileSpec("ethos-u65-512"), spec)] == [1, 1, 0]
    assert not U55.tosa_spec.support_float() and U55.tosa_spec.support_extension("int16")
    again = EthosUCompileSpec.from_compile_specs(spec.to_compile_specs())
    assert (again.target, again.compiler_flags, again.tosa_spec) == (spec.target, spec.compiler_flags, spec.tosa_spec)


def test_the_methods_of_the_options(tmp_path: Path) -> None:
    """The options have the methods of every compile spec of Arm's; the format is Vela's."""
    spec = EthosUCompileSpec("ethos-u55-64")
    assert spec.get_output_format() == EthosUCompileSpec.get_output_format() == "vela"
    assert spec.get_intermediate_path() is None
    spec.dump_intermediate_artifacts_to(str(tmp_path)).dump_debug_info(ArmCompileSpec.DebugMode.JSON)
    again = EthosUCompileSpec.from_compile_specs(spec.to_compile_specs())
    assert again.get_intermediate_path() == str(tmp_path)
    assert again.get_debug_mode() is ArmCompileSpec.DebugMode.JSON


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ethos-u55",), "'ethos-u55' is not an Ethos-U; there are ethos-u55-32, ethos-u55-64"),
        (("ethos-u55-512",), "is not an Ethos-U"),
        (("cortex-m55",), "is not an Ethos-U"),
        (("ethos-u55-128", None, "Dedicated_Sram"), "an Ethos-U55 has Sram_Only and Shared_Sram"),
        (("ethos-u55-128", None, None, "--flag"), "pass a list with one flag an element"),
    ],
)
def test_wrong_options_are_errors(arguments: tuple[Any, ...], message: str) -> None:
    """ETU-14: an Ethos-U55 does not have a dedicated memory."""
    with pytest.raises(ValueError, match=message):
        EthosUCompileSpec(*arguments)


def _quantized(model: nn.Module, inputs: tuple[Tensor, ...], config: Any, is_qat: bool = False) -> Any:
    quantizer = EthosUQuantizer(U55).set_global(config)
    captured = export(model.train() if is_qat else model.eval(), inputs).module()
    prepared = (prepare_qat_pt2e if is_qat else prepare_pt2e)(captured, quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


@pytest.mark.parametrize(
    "config", [get_symmetric_quantization_config(), get_symmetric_a16w8_quantization_config()], ids=["int8", "int16"]
)
def test_the_quantizer(config: Any) -> None:
    """ETU-05, ETU-06: symmetric int8 weights, int8 activations with a zero point, or int16 ones without."""
    inputs = (torch.randn(1, 3, 8, 8),)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 5)
    )
    converted = _quantized(model, inputs, config)
    lowered = lower(converted, inputs, TOSA_U55)
    assert len(lowered.payloads) == 1, lowered.left()
    assert all("quantize_per_tensor" in reason for reason in lowered.left().values())
    assert steps(lowered, converted, inputs) <= 2


def test_training() -> None:
    """ETU-07: quantisation-aware training; quantisation after training is above."""
    inputs = (torch.randn(2, 3, 8, 8),)
    converted = _quantized(
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), inputs, get_symmetric_quantization_config(is_qat=True), True
    )
    lowered = lower(converted, inputs, TOSA_U55)
    assert len(lowered.payloads) == 1 and lowered.operators["CONV2D"] == 1


def test_branches() -> None:
    """ETU-08: both branches of a condition are quantised, each calibrated with its own sample."""
    model = Call(lambda x: torch.cond(x.sum() > 0, lambda x: torch.sigmoid(x), lambda x: torch.tanh(x), [x]))
    ones = torch.ones(2, 8)
    quantizer = EthosUQuantizer(U55).set_global(get_symmetric_quantization_config())
    converted = quantizer.quantize_with_submodules(export(model, (ones,)).module(), [(ones,), (-ones,)])
    for x in (ones, -ones):
        torch.testing.assert_close(converted(x), model(x), atol=0.01, rtol=0)


NET = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5))
IMAGE = (torch.randn(1, 3, 8, 8),)


def _compiled(spec: EthosUCompileSpec) -> Lowered:
    """Lowers NET to one delegate for the Ethos-U."""
    lowered = lower(
        _quantized(NET, IMAGE, get_symmetric_quantization_config()), IMAGE, partitioner=EthosUPartitioner(spec)
    )
    assert len(lowered.payloads) == 1, lowered.left()
    return lowered


def test_a_model_becomes_a_command_stream(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """ETU-03, ETU-04: quantisation stays outside, at the edges. The payload has the offsets of inputs and outputs. The
    intermediate files contain Vela's archive and report. ETU-15: the memory is in the log and in the report."""
    spec = EthosUCompileSpec("ethos-u55-128").dump_intermediate_artifacts_to(tmp_path)
    with caplog.at_level(logging.INFO, "sdk.backends.arm"):
        lowered = _compiled(spec)
    ((_, module, _),) = get_lowered_submodules(lowered.program.graph_module)
    assert module.backend_id == EthosUBackend.__name__ == "EthosUBackend"
    assert all("quantize_per_tensor" in reason for reason in lowered.left().values())
    stream = VelaStream.from_bytes(lowered.payloads[0])
    assert stream.commands[:4] == b"COP1" and stream.weights and stream.scratch_size >= 3 * 8 * 8
    # The image is an input of the convolution that transposes it, with its pixels as the width.
    assert [(edge.shape, edge.element_size, edge.region) for edge in stream.inputs] == [((1, 1, 1, 3, 64, 1), 1, 1)]
    assert [(edge.shape, edge.element_size, edge.region) for edge in stream.outputs] == [((1, 1, 1, 1, 1, 5), 1, 1)]
    assert {path.name for path in tmp_path.iterdir()} == {f"partition_0.{end}" for end in ("tosa", "npz", "txt")}
    report = (tmp_path / "partition_0.txt").read_text()
    assert "Total SRAM used" in report and "NPU operators" in report and "CPU operators = 0" in report
    assert "ethos-u55-128: Total SRAM used" in caplog.text and "Total Off-chip Flash used" in caplog.text


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("target", "mode"),
    [
        ("ethos-u55-32", None),
        ("ethos-u55-256", "Sram_Only"),
        ("ethos-u65-256", None),
        ("ethos-u65-512", "Shared_Sram"),
        ("ethos-u85-128", "Dedicated_Sram_384KB"),
        ("ethos-u85-2048", None),
    ],
)
def test_targets_and_memory_modes(target: str, mode: str | None) -> None:
    """ETU-01, ETU-14: each family has a command stream for its own configuration."""
    stream = VelaStream.from_bytes(_compiled(EthosUCompileSpec(target, memory_mode=mode)).payloads[0])
    # The second word of the driver's configuration: log2 of the products per cycle, and the NPU, U85 = 2, U65 = 1.
    (configuration,) = struct.unpack_from("<I", stream.commands, 8)
    assert 1 << (configuration & 15) == int(target.rpartition("-")[2])
    assert configuration >> 28 == {"ethos-u55": 0, "ethos-u65": 1, "ethos-u85": 2}[target.rpartition("-")[0]]


def test_a_refusal_of_vela_is_an_error() -> None:
    """The error has Vela's message and its flags."""
    spec = EthosUCompileSpec("ethos-u55-128", system_config="Nowhere")
    with pytest.raises(RuntimeError, match=r"(?s)Vela .*--system-config=Nowhere.* failed .*Nowhere"):
        _compiled(spec)
    with pytest.raises(RuntimeError, match="failed with the exit status"):
        vela.compile_graph(b"nonsense", U55.compiler_flags)


def test_without_vela_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install ethos-u-vela==5\.1\.0"):
        vela.compile_graph(b"", [])


STREAM = VelaStream(b"COP1" + bytes(13), b"w" * 16, 99, (Edge((1, 1, 1, 2, 3, 4), 1, 0, 1),) * 2, ())

TIMED = replace(STREAM, timing=Timing(500_000_000, (7, 0, 2**32 - 1)))


def test_payloads_are_read_as_they_were_written() -> None:
    payload = STREAM.to_bytes()
    assert len(payload) % 16 == 0 and payload.startswith(b"vela_bin_stream\0" + bytes(16) + b"cmd_data" + bytes(8))
    assert VelaStream.from_bytes(payload) == STREAM
    assert VelaStream.from_bytes(TIMED.to_bytes()) == TIMED != STREAM


@pytest.mark.parametrize("stream", [STREAM, TIMED], ids=["plain", "timed"])
def test_damaged_payloads_are_errors(stream: VelaStream) -> None:
    """A payload that is cut or has a changed byte gives another stream, or an error that names the block."""
    payload = stream.to_bytes()
    for length in range(len(payload)):
        with pytest.raises(ValueError, match=r"payload|block"):
            VelaStream.from_bytes(payload[:length])
    for at in range(len(payload)):
        damaged = payload[:at] + bytes([payload[at] ^ 0x55]) + payload[at + 1 :]
        try:
            VelaStream.from_bytes(damaged)
        except ValueError as error:
            assert "block" in str(error)


@pytest.mark.sampled
def test_the_payload_is_that_of_the_original(tmp_path: Path, in_original: InOriginal) -> None:
    """ETU-02: the same TOSA file and flags give the same bytes."""
    spec = EthosUCompileSpec("ethos-u55-128").dump_intermediate_artifacts_to(tmp_path)
    lowered = _compiled(spec)
    in_original(
        "-c",
        "import sys\n"
        "from executorch.backends.arm.arm_vela import vela_compile\n"
        "graph, made, *flags = sys.argv[1:]\n"
        "open(made, 'wb').write(vela_compile(open(graph, 'rb').read(), flags))\n",
        str(tmp_path / "partition_0.tosa"),
        str(tmp_path / "original.bin"),
        *spec.compiler_flags,
    )
    assert (tmp_path / "original.bin").read_bytes() == lowered.payloads[0]


LACKING = {
    "EQUAL": lambda x: torch.where(x == 0.5, x, x * 2),
    "GATHER": lambda x: (x * 2)[:, torch.tensor([2, 0])] * 3,
    "RESIZE": lambda x: F.interpolate((x * 2)[None], size=(9, 7), mode="bilinear") * 3,
    "REVERSE": lambda x: (x * 2).flip(1) * 3,
    "SCATTER": lambda x: torch.scatter(x * 2, 1, torch.tensor([[[1, 0, 2]]]), 0.5) * 3,
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", LACKING)
def test_what_an_ethos_u55_lacks_is_left_out(name: str) -> None:
    """ETU-06: an Ethos-U85 has the operator; for an Ethos-U55, operators that it lacks or that are not quantised run on
    kernels."""
    inputs = (torch.randn(2, 3, 4),)
    converted = _quantized(Call(LACKING[name]), inputs, get_symmetric_quantization_config())
    lowered = lower(converted, inputs, TOSA_U55)
    assert any(f"an Ethos-U55 does not have TOSA's {name}" in reason for reason in lowered.left().values())
    assert lowered.operators[name] == 0
    assert lower(converted, inputs, str(EthosUCompileSpec("ethos-u85-256").tosa_spec)).operators[name] == 1


@pytest.mark.parametrize(
    ("name", "model", "shapes", "reason"),
    [
        ("convolution", nn.ConvTranspose2d(4, 6, 3), ((1, 4, 5, 5),), "has transposed convolutions of int8 only"),
        ("bmm", Call(torch.bmm), ((2, 3, 4), (2, 4, 5)), "multiplies matrices of int8 only"),
    ],
)
def test_what_an_ethos_u55_has_for_int8_only(name: str, model: nn.Module, shapes: Any, reason: str) -> None:
    """ETU-06: with int16 activations, the operator runs on kernels; an Ethos-U85 supports it."""
    inputs = tuple(torch.randn(shape) for shape in shapes)
    converted = _quantized(model, inputs, get_symmetric_a16w8_quantization_config())
    left = lower(converted, inputs, TOSA_U55).left()
    assert any(each.endswith(f"an Ethos-U55 {reason}") for node, each in left.items() if name in node), left
    assert len(lower(converted, inputs, str(EthosUCompileSpec("ethos-u85-256").tosa_spec)).payloads) == 1
