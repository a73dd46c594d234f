# SPDX-License-Identifier: BSD-3-Clause
"""Tests OpenVINO's backend without OpenVINO: its declaration, the calls that it would delegate, and the message that
the package is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch.export import export

from sdk.backends.openvino.operators import OPERATORS, WHOLE
from sdk.backends.openvino.partitioner import OpenvinoPartitioner
from sdk.backends.openvino.recipes import OpenvinoRecipeProvider, OpenvinoRecipeType
from sdk.backends.registry import backends
from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec


def test_declaration_names_what_exists() -> None:
    declared = backends()["openvino"]
    assert declared.id == "OpenvinoBackend" and not declared.default_on_cpu
    assert isinstance(declared.make("partitioner"), OpenvinoPartitioner)
    provider = declared.make("recipes")
    known = {kind.value for kind in provider.get_supported_recipes()}
    assert declared.float_recipe in known
    assert {scheme.recipe for scheme in declared.quantization.values()} <= known


def test_nothing_but_lowering_imports_other_packages() -> None:
    """DINT-06: the partitioner and the quantizer import without OpenVINO and without nncf."""
    code = (
        "import sys, sdk.backends.openvino as o; o.OpenvinoPartitioner; o.OpenVINOQuantizer; o.quantize_model;"
        "print(sorted({'openvino', 'nncf'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_lowering_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    program = export(torch.nn.ReLU(), (torch.ones(2),))
    with pytest.raises(ImportError, match=r"pip install 'openvino==2025\.4\.1'"):
        to_edge_transform_and_lower(program, partitioner=[OpenvinoPartitioner()])


def specs(partitioner: OpenvinoPartitioner) -> dict[str, bytes]:
    return {spec.key: spec.value for spec in partitioner.delegation_spec.compile_specs}


def test_compile_specs_have_the_device_and_its_precision() -> None:
    """A CPU with bfloat16 would use it by default, and a payload does not store the precision of its compilation."""
    assert specs(OpenvinoPartitioner()) == {"device": b"CPU", "INFERENCE_PRECISION_HINT": b"f32"}
    assert specs(OpenvinoPartitioner([CompileSpec("device", b"GPU")])) == {"device": b"GPU"}
    bf16 = [CompileSpec("device", b"CPU"), CompileSpec("INFERENCE_PRECISION_HINT", b"bf16")]
    assert specs(OpenvinoPartitioner(bf16)) == {"device": b"CPU", "INFERENCE_PRECISION_HINT": b"bf16"}
    assert specs(OpenvinoPartitioner(include_ir=True))["include_ir"] == b"1"
    with pytest.raises(ValueError, match="'device' of OpenVINO"):
        OpenvinoPartitioner([CompileSpec("device", b"\xff")])


def test_whole_operators_are_in_the_table() -> None:
    assert set(WHOLE) <= set(OPERATORS)


class Refused(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor, d: torch.Tensor, many: torch.Tensor):
        return n + n, torch.sin(d), torch.sum(many), torch.fft.fft(x)


def test_refusals_are_in_words() -> None:
    inputs = (torch.ones(2), torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.float64), torch.ones(40000))
    program = to_edge(export(Refused(), inputs)).exported_program()
    reasons = {
        node.target.__name__: OPERATORS.refusal(node, program)
        for node in program.graph.nodes
        if node.op == "call_function"
    }
    assert reasons["aten.add.Tensor"] == "it computes with int64: OpenVINO's integers have other limits"
    assert reasons["aten.sin.default"] == "a tensor is float64"
    assert reasons["aten.sum.dim_IntList"] == "it adds more than 32768 numbers"
    assert "OpenVINO has no such operator" in reasons.values()


def test_recipes_refuse_options_that_they_lack() -> None:
    provider = OpenvinoRecipeProvider()
    recipe = provider.create_recipe(OpenvinoRecipeType.INT4WO_SYM, group_size=64, device="CPU")
    assert recipe is not None and recipe.quantization_recipe.quantizers[0].group_size == 64
    with pytest.raises(ValueError, match="openvino_fp32 has no option group_size; it has device, include_ir"):
        provider.create_recipe(OpenvinoRecipeType.FP32, group_size=64)
