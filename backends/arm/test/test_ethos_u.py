# SPDX-License-Identifier: BSD-3-Clause
"""The supported part of Ethos-U: options, quantizer, and TOSA files with its operators. Vela is not called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from arm_lowering import Call, lower
from test_tosa_integers import steps
from torch import Tensor, nn
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.ethosu import EthosUCompileSpec
from sdk.backends.arm.quantizer import (
    EthosUQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)

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
        (("ethos-u55",), "'ethos-u55' is no Ethos-U; there are ethos-u55-32, ethos-u55-64"),
        (("ethos-u55-512",), "is no Ethos-U"),
        (("cortex-m55",), "is no Ethos-U"),
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
    """ETU-08: a sample for each path of a condition."""
    model = Call(lambda x: torch.cond(x.sum() > 0, lambda x: torch.sigmoid(x), lambda x: torch.tanh(x), [x]))
    ones = torch.ones(2, 8)
    quantizer = EthosUQuantizer(U55).set_global(get_symmetric_quantization_config())
    converted = quantizer.quantize_with_submodules(export(model, (ones,)).module(), [(ones,), (-ones,)])
    for x in (ones, -ones):
        torch.testing.assert_close(converted(x), model(x), atol=0.01, rtol=0)


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
