# SPDX-License-Identifier: BSD-3-Clause
"""VGF files: made by the model converter, read by the VGF library."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from arm_lowering import FP, contents_of, lower
from torch import nn

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.tosa import TosaCompileSpec, TosaSpecification
from sdk.backends.arm.vgf import VgfBackend, VgfCompileSpec, VgfPartitioner, model_converter
from sdk.backends.arm.vgf.extract import files_of, main
from sdk.backends.arm.vgf.recipes import VgfRecipeType
from sdk.backends.registry import backends
from sdk.exir.lowered_backend_module import get_lowered_submodules

X = torch.randn(1, 3, 9, 9)
MODEL = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())


def _lower(spec: VgfCompileSpec | None = None) -> Any:
    return lower(MODEL, (X,), partitioner=VgfPartitioner(spec))


def test_the_compile_spec(tmp_path: Path) -> None:
    """VGF-02"""
    spec = VgfCompileSpec()
    assert str(spec.tosa_spec) == "TOSA-1.0+FP+INT+int4+int16" and spec.compiler_flags == []
    assert spec.get_output_format() == VgfCompileSpec.get_output_format() == "vgf"
    assert spec.get_intermediate_path() is None
    chosen = VgfCompileSpec(TosaSpecification.create_from_string(FP), ["--require-static-shape", "--emit-debug-info"])
    chosen.dump_intermediate_artifacts_to(str(tmp_path)).dump_debug_info(ArmCompileSpec.DebugMode.TOSA)
    read = VgfCompileSpec.from_compile_specs(chosen.to_compile_specs())
    assert (str(read.tosa_spec), read.compiler_flags) == (FP, ["--require-static-shape", "--emit-debug-info"])
    assert (read.get_intermediate_path(), read.get_debug_mode()) == (str(tmp_path), ArmCompileSpec.DebugMode.TOSA)
    with pytest.raises(ValueError, match="is not a TOSA specification"):
        VgfCompileSpec("FP")
    with pytest.raises(ValueError, match="pass a list with one flag an element"):
        VgfCompileSpec(compiler_flags="--emit-debug-info")  # type: ignore[arg-type]


def test_a_model_becomes_a_vgf_file(tmp_path: Path) -> None:
    """VGF-01, VGF-02, VGF-03: the file in the program is the converter's, and the VGF library reads its inputs,
    outputs and constants."""
    lowered = _lower(VgfCompileSpec().dump_intermediate_artifacts_to(tmp_path))
    ((_, module, _),) = get_lowered_submodules(lowered.program.graph_module)
    assert module.backend_id == VgfBackend.__name__ == "VgfBackend"
    assert {path.name for path in tmp_path.iterdir()} == {"partition_0.tosa", "partition_0.vgf"}
    assert (tmp_path / "partition_0.vgf").read_bytes() == module.processed_bytes
    dumped = contents_of(tmp_path / "partition_0.vgf")
    resources = dumped["resources"]
    sequence = dumped["model_sequence"]
    (given,), (returned,) = (
        [resources[each["mrt_index"]] for each in sequence[kind]] for kind in ("inputs", "outputs")
    )
    assert (given["shape"], returned["shape"]) == ([1, 3, 9, 9], [1, 8, 7, 7])
    assert given["vk_format"] == returned["vk_format"] == "VK_FORMAT_R32_SFLOAT"
    assert [8, 3, 3, 3] in [resources[each["mrt_index"]]["shape"] for each in dumped["constants"]]


def test_flags_reach_the_converter() -> None:
    """VGF-02: `compiler_flags` are passed to the converter, whose refusal is an error with its message."""
    (plain,), (described,) = _lower().payloads, _lower(VgfCompileSpec(compiler_flags=["--emit-debug-info"])).payloads
    assert len(described) > len(plain)
    with pytest.raises(RuntimeError, match=r"(?s)model-converter --nonsense failed .*Unknown argument: --nonsense"):
        _lower(VgfCompileSpec(compiler_flags=["--nonsense"]))


def test_extraction(tmp_path: Path, capsys: Any) -> None:
    """VGF-01: the VGF file can be taken out of a program."""
    lowered = _lower()
    program = tmp_path / "model.pte"
    program.write_bytes(lowered.edge.to_executorch().buffer)
    assert main([str(program), str(tmp_path / "files")]) == 0
    (file,) = (tmp_path / "files").iterdir()
    assert file.name == "forward_0.vgf" and file.read_bytes() == lowered.payloads[0]
    assert f"{file}  {len(lowered.payloads[0])} bytes" in capsys.readouterr().out
    program.write_bytes(b"nonsense")
    assert main([str(program), str(tmp_path / "more")]) == 1
    program.write_bytes(lower(MODEL, (X,)).edge.to_executorch().buffer)
    assert main([str(program), str(tmp_path / "more")]) == 1
    assert "the program has no delegate of VgfBackend" in capsys.readouterr().err
    assert not (tmp_path / "more").exists()
    damaged = lowered.edge.to_executorch().buffer.replace(model_converter.MAGIC, b"VGF9")
    with pytest.raises(ValueError, match=r"delegate 0 of forward is not a VGF file: it begins with b'VGF9'"):
        files_of(damaged)


def test_a_missing_converter_is_named(monkeypatch: Any, tmp_path: Path) -> None:
    """The error is one line that says what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install ai_ml_sdk_model_converter==0\.9\.0, or set MODEL_CONVERTER_"):
        model_converter.find_converter()
    monkeypatch.setenv(model_converter.VARIABLE, str(tmp_path))
    with pytest.raises(RuntimeError, match="which is not a program: set it to the path of model-converter"):
        model_converter.find_converter()
    program = tmp_path / "model-converter"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.delenv(model_converter.VARIABLE)
    assert model_converter.find_converter() == program
    with pytest.raises(RuntimeError, match="it wrote no VGF file and no message"):
        model_converter.convert(b"")


def test_a_damaged_graph_is_the_converters_error() -> None:
    with pytest.raises(RuntimeError, match="failed with the exit status"):
        model_converter.convert(b"nonsense")


def test_the_recipes() -> None:
    declared = backends()["vgf"]
    provider = declared.make("recipes")
    assert {recipe.value for recipe in provider.get_supported_recipes()} == {"vgf_fp32", "vgf_int8"}
    assert declared.float_recipe == "vgf_fp32" and declared.quantization["int8"].recipe == "vgf_int8"
    assert provider.create_recipe(VgfRecipeType.FP32).quantization_recipe is None
    assert provider.create_recipe(VgfRecipeType.INT8, is_per_channel=False).quantization_recipe is not None
    with pytest.raises(ValueError, match="vgf_fp32 has no option is_per_channel; it has compiler_flags, tosa_spec"):
        provider.create_recipe(VgfRecipeType.FP32, is_per_channel=True)
    assert isinstance(declared.make("partitioner"), VgfPartitioner)


def test_options_of_another_backend_are_refused() -> None:
    with pytest.raises(ValueError, match="expected the output format 'vgf' of VgfCompileSpec, found 'tosa'"):
        VgfBackend.preprocess(None, TosaCompileSpec(FP).to_compile_specs())  # type: ignore[arg-type]
