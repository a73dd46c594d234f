# SPDX-License-Identifier: BSD-3-Clause
"""Tests the promises of the pages on Arm's backends: signatures, and the programs of the tutorials."""

from __future__ import annotations

import inspect
import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.arm.common.arm_compile_spec import ArmCompileSpec
from sdk.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from sdk.backends.arm.quantizer import EthosUQuantizer, VgfQuantizer, arm_quantizer, get_symmetric_quantization_config
from sdk.backends.arm.vgf import VgfCompileSpec, VgfPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.partitioner import PartitionResult
from sdk.runtime import Runtime

ROOT = Path(__file__).resolve().parents[3]
QUANTIZER = {
    "quantize_with_submodules": "model, calibration_samples, is_qat=False",
    "set_global": "quantization_config",
    "set_io": "quantization_config",
    "set_module_name": "module_name, quantization_config",
    "set_module_type": "module_type, quantization_config",
    "transform_for_annotation": "model",
}
SPEC = {"dump_debug_info": "debug_mode", "dump_intermediate_artifacts_to": "output_path", "get_intermediate_path": ""}
PARTITIONER = {"ops_to_not_decompose": "ep", "partition": "exported_program"}
SIGNATURES: list[tuple[Any, str, dict[str, str]]] = [
    (
        EthosUCompileSpec,
        "target, system_config=None, memory_mode=None, extra_flags=None, config_ini='Arm/vela.ini'",
        SPEC,
    ),
    (VgfCompileSpec, "tosa_spec=None, compiler_flags=None", SPEC),
    (EthosUPartitioner, "compile_spec, additional_checks=None", PARTITIONER),
    (VgfPartitioner, "compile_spec, additional_checks=None", PARTITIONER),
    (EthosUQuantizer, "compile_spec", QUANTIZER),
    (VgfQuantizer, "compile_spec", QUANTIZER),
]


def _assert_takes(function: Any, documented: str) -> None:
    """Checks the parameters, their order and the documented defaults. A parameter without a documented default may have
    one, and there may be more parameters with defaults."""
    parameters = [each for name, each in inspect.signature(function).parameters.items() if name != "self"]
    wanted = documented.split(", ") if documented else []
    for found, expected in zip(parameters[: len(wanted)], wanted, strict=True):
        name, _, default = expected.partition("=")
        assert found.name == name
        assert not default or repr(found.default) == default
    assert all(each.default is not inspect.Parameter.empty for each in parameters[len(wanted) :])


@pytest.mark.parametrize(("kind", "made", "methods"), SIGNATURES, ids=lambda each: getattr(each, "__name__", ""))
def test_the_documented_signatures(kind: Any, made: str, methods: dict[str, str]) -> None:
    """ETU-02, ETU-03, ETU-04, ETU-05, VGF-02, VGF-03, VGF-04"""
    _assert_takes(kind, made)
    for name, parameters in methods.items():
        _assert_takes(getattr(kind, name), parameters)


def test_where_the_documents_find_names() -> None:
    """ETU-05, ETU-03"""
    assert arm_quantizer.get_symmetric_quantization_config is get_symmetric_quantization_config
    assert EthosUCompileSpec.get_output_format() == "vela" and VgfCompileSpec.get_output_format() == "vgf"
    assert {mode.name for mode in ArmCompileSpec.DebugMode} >= {"JSON", "TOSA"}


def _run_notebook(name: str) -> None:
    cells = json.loads((ROOT / "examples/arm" / name).read_text())["cells"]
    names: dict[str, object] = {"__name__": "notebook"}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)


def test_the_tutorial_of_the_ethos_u(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ETU-10: the notebook has the tutorial's program, and runs what it writes: the sum of ones is near two."""
    monkeypatch.chdir(tmp_path)
    _run_notebook("ethos_u_minimal_example.ipynb")
    assert b"vela_bin_stream" in (tmp_path / "ethos_u_minimal_example.pte").read_bytes()


def test_the_command_makes_an_equivalent_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ETU-11: without a target, as in the tutorial, the command is for an Ethos-U55 with 128 products per cycle."""
    sys.path.insert(0, str(ROOT))
    try:
        from examples.arm.aot_arm_compiler import main
    finally:
        sys.path.remove(str(ROOT))
    monkeypatch.chdir(tmp_path)
    name = "ethos_u_minimal_example.pte"
    assert main(["--model_name=add", "--delegate", "--quantize", f"--output={name}"]) == 0
    method = Runtime.get().load_program(name).load_method("forward")
    ones = [torch.ones(tuple(method.metadata.input_tensor_meta(i).sizes())) for i in range(2)]
    assert method.execute(ones)[0].flatten().tolist() == pytest.approx([2.0] * ones[0].numel(), abs=0.05)


def test_the_lowering_reports_memory(caplog: pytest.LogCaptureFixture) -> None:
    """ETU-15, ETU-14: the log has the two lines of the troubleshooting page; with `--optimise Size`, the model needs no
    more SRAM."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3)).eval()
    inputs = (torch.randn(1, 3, 32, 32),)
    used = []
    for flags in (["--optimise=Performance"], ["--optimise=Size"]):
        spec = EthosUCompileSpec("ethos-u55-128", extra_flags=flags)
        quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config())
        prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
        prepared(*inputs)
        quantized = torch.export.export(convert_pt2e(prepared), inputs)
        caplog.clear()
        with caplog.at_level(logging.INFO, "sdk.backends.arm"):
            to_edge_transform_and_lower(quantized, partitioner=[EthosUPartitioner(spec)])
        assert re.search(r"Total Off-chip Flash used \d+\.\d\d KiB", caplog.text)
        (sram,) = re.findall(r"Total SRAM used (\d+\.\d\d) KiB", caplog.text)
        used.append(float(sram))
    assert 0 < used[1] <= used[0]


def test_the_partitioner_tags_a_program(caplog: pytest.LogCaptureFixture) -> None:
    """ETU-04: `partition` returns tags; an operator that is not quantised is rejected with a reason."""
    spec = EthosUCompileSpec("ethos-u55-128")
    from sdk.exir import to_edge

    program = to_edge(torch.export.export(nn.Conv2d(3, 8, 3).eval(), (torch.randn(1, 3, 9, 9),))).exported_program()
    result = EthosUPartitioner(spec).partition(program)
    assert isinstance(result, PartitionResult) and not result.partition_tags
    kept, _ = EthosUPartitioner(spec).ops_to_not_decompose(program)
    assert all(isinstance(each, torch._ops.OpOverload) for each in kept)
