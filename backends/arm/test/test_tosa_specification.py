# SPDX-License-Identifier: BSD-3-Clause
"""Specifications, compile specs, and what they allow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from arm_lowering import BOTH, FP, INT, Call, lower

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa import TOSACompileSpec, TosaCompileSpec, TOSAPartitioner, TosaSpecification
from sdk.exir.backend.compile_spec_schema import CompileSpec


@pytest.mark.parametrize(
    ("text", "floats", "integers", "extensions"),
    [
        ("TOSA-1.0+FP", True, False, ()),
        ("TOSA-1.0+INT", False, True, ()),
        ("TOSA-1.0+FP+INT+int4+int16", True, True, ("int4", "int16")),
        ("TOSA-1.0+INT+int16+u55", False, True, ("int16", "u55")),
    ],
)
def test_a_specification_is_read(text: str, floats: bool, integers: bool, extensions: tuple[str, ...]) -> None:
    spec = TosaSpecification.create_from_string(text)
    assert (spec.version, spec.support_float(), spec.support_integer()) == ((1, 0), floats, integers)
    assert spec.extensions == extensions and all(map(spec.support_extension, extensions))
    assert spec.is_U55_subset == ("u55" in extensions)
    assert str(spec) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TOSA", "is not a TOSA specification; write one like"),
        ("TOSA-0.80+BI", "has the version 0.80; TOSA 1.0 is supported"),
        ("TOSA-1.0+int16", "has no profile; add [+]FP, [+]INT or both"),
        ("TOSA-1.0+FP+int16", "has the extension 'int16'; FP has bf16, cf, fft, fp8e4m3, fp8e5m2, var"),
        ("TOSA-1.0+FP+nonsense", "has the extension 'nonsense'"),
    ],
)
def test_a_wrong_specification_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TosaSpecification.create_from_string(text)


def test_compile_specs_are_read_back(tmp_path: Path) -> None:
    assert TOSACompileSpec is TosaCompileSpec
    spec = TosaCompileSpec(BOTH).dump_intermediate_artifacts_to(tmp_path).dump_debug_info(ArmCompileSpec.DebugMode.JSON)
    read = TosaCompileSpec.from_compile_specs(spec.to_compile_specs())
    assert str(read.tosa_spec) == BOTH
    assert read.get_intermediate_path() == str(tmp_path)
    assert read.get_debug_mode() is ArmCompileSpec.DebugMode.JSON
    assert read.get_output_format() == "tosa"


def test_wrong_compile_specs_are_errors() -> None:
    with pytest.raises(ValueError, match="expected the output format 'tosa' of TosaCompileSpec, found 'vgf'"):
        TosaCompileSpec.from_compile_specs([CompileSpec("output_format", b"vgf")])
    with pytest.raises(ValueError, match="TosaCompileSpec has no option 'tosa_version'"):
        TosaCompileSpec.from_compile_specs([CompileSpec("tosa_version", b"1")])
    with pytest.raises(ValueError, match=r"call dump_intermediate_artifacts_to\(path\) too"):
        TOSAPartitioner(TosaCompileSpec(FP).dump_debug_info(ArmCompileSpec.DebugMode.TOSA))


def _integers(x: torch.Tensor) -> torch.Tensor:
    return x + x


@pytest.mark.parametrize(
    ("spec", "function", "value", "reason"),
    [
        (FP, _integers, torch.ones(3, dtype=torch.int32), "it computes with int32, and TOSA-1.0+FP has no integers"),
        (INT, torch.sin, torch.ones(3), "it computes with float32, and TOSA-1.0+INT has no floats"),
        (BOTH, _integers, torch.ones(3, dtype=torch.int64), "it computes with int64, which TOSA 1.0 does not have"),
        (BOTH, torch.sin, torch.ones(3, dtype=torch.float64), "a tensor is float64, which TOSA 1.0 does not have"),
        (BOTH, torch.sin, torch.ones(1, 1, 1, 1, 1, 1, 2), "a tensor has 7 dimensions; TOSA's level 8K has 6"),
        (BOTH, torch.sin, torch.ones(0, 2), "a tensor has no elements, which TOSA does not have"),
        (BOTH, torch.special.bessel_j0, torch.ones(3), "TOSA has no such operator"),
    ],
)
def test_what_is_not_taken_has_a_reason(spec: str, function: Any, value: torch.Tensor, reason: str) -> None:
    """VGF-03: rejected nodes and their reasons are reported."""
    lowered = lower(Call(function), (value,), spec)
    assert not lowered.payloads
    (found,) = lowered.left().values()
    assert reason in found


def test_importing_needs_none_of_the_packages() -> None:
    """tosa-tools and PyTorch are imported only when they are used."""
    code = """
import sys
sys.modules.update({name: None for name in ("tosa", "tosa_reference_model", "ml_dtypes", "model_converter", "torchao")})
import sdk.backends.arm.tosa.specification
import sdk.backends.registry
assert "torch" not in sys.modules
from sdk.backends.arm.tosa import TOSAPartitioner, TosaCompileSpec
TOSAPartitioner(TosaCompileSpec("TOSA-1.0+FP"))
"""
    subprocess.run([sys.executable, "-c", code], check=True)
