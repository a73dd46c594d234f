# SPDX-License-Identifier: BSD-3-Clause
"""Payloads for MPS, exchanged with the original: its payloads give eager's results in our interpreter, its schema reads
ours, and the nodes are the same where the original's are right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "backends" / "apple" / "mps" / "test"), str(ROOT / "tests")]

from mps_cases import all_calls  # noqa: E402
from mps_lowering import LIMITS, difference, lower_call  # noqa: E402
from mps_programs import expected_of, tensors_of  # noqa: E402
from oracle_mps import chosen  # noqa: E402

import sdk.backends.apple.mps.operators  # noqa: E402, F401 - registers the visitors
from sdk.backends.apple.mps.operators.node_visitor import get_node_visitors  # noqa: E402
from sdk.backends.apple.mps.serialization.mps_graph_serialize import read_mps_graph  # noqa: E402
from sdk.backends.apple.mps.verify import run  # noqa: E402
from sdk.backends.apple.mps.verify.program import ReferenceProgram  # noqa: E402
from zoo import vision  # noqa: E402, F401 - registers its models
from zoo.case import build  # noqa: E402

pytestmark = pytest.mark.oracle
CALLS = all_calls()
MODELS = ("mobilenet", "resnet")
"""Models of which the original makes one delegate. Ids of numbers leak from one of its payloads to the next, so that a
second delegate may read values that it does not have; the interpreter refuses those."""


@pytest.fixture(scope="module")
def original(oracle_python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the original's payloads, its names, and what it reads of ours."""
    folder = tmp_path_factory.mktemp("mps")
    for number, call in chosen(CALLS).items():
        (folder / f"{number}.payload").write_bytes(lower_call(call, False))
    for name in MODELS:
        (method,) = build(name).methods.values()
        torch.export.save(torch.export.export(method.module.eval(), tuple(method.calls[0])), folder / f"{name}.pt2")
    script = ROOT / "tests" / "interop" / "oracle_mps.py"
    arguments = [oracle_python, "-W", "ignore", script, folder, "names", "lower", "read", "models"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_every_operator_of_the_original_is_here(original: Path) -> None:
    program = torch.export.export(torch.nn.Identity(), (torch.ones(1),))
    assert set(json.loads((original / "names.json").read_text())) <= set(get_node_visitors(program))


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_payloads_of_the_original_give_eager_results(original: Path, precision: str) -> None:
    use_fp16 = precision == "fp16"
    for number, call in chosen(CALLS).items():
        file = original / f"{number}.{precision}.mps"
        assert file.exists(), (call, (original / f"{number}.{precision}.error.txt").read_text()[-500:])
        results = run(file.read_bytes(), tensors_of(call))
        assert difference(results, expected_of(call, use_fp16)) <= LIMITS[use_fp16], call


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_nodes_and_values_are_the_original_s(original: Path, precision: str) -> None:
    """Types of nodes, ids, dtypes, sizes and bytes of constants, where the call says that they are the same."""
    compared = 0
    for number, call in chosen(CALLS).items():
        if call.same:
            theirs = _form((original / f"{number}.{precision}.mps").read_bytes())
            assert _form(lower_call(call, precision == "fp16")) == theirs, call
            compared += 1
    assert compared > 80


def test_the_original_s_schema_reads_our_payloads(original: Path) -> None:
    for number, call in chosen(CALLS).items():
        graph, _ = read_mps_graph((original / f"{number}.payload").read_bytes())
        read = json.loads((original / f"{number}.json").read_text())
        assert read["input_ids"] == graph.input_ids and read["output_ids"] == graph.output_ids, call
        assert len(read["mps_values"]) == len(graph.mps_values)
        for have, want in zip(read["mps_nodes"], graph.mps_nodes, strict=True):
            assert have["mpsnode_union_type"] == type(want.mpsnode_union).__name__, call
            for name, value in have["mpsnode_union"].items():
                expected: Any = getattr(want.mpsnode_union, name)
                named = getattr(expected, "name", expected)  # of an enumeration
                assert value == (pytest.approx(named, rel=1e-6) if isinstance(named, float) else named), (call, name)


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("name", MODELS)
def test_models_of_the_original_give_eager_results(original: Path, name: str, precision: str) -> None:
    file = original / f"{name}.{precision}.pte"
    assert file.exists(), (original / f"{name}.{precision}.error.txt").read_text()[-1500:]
    (method,) = build(name).methods.values()
    call = method.calls[0]
    with torch.no_grad():
        expected = method.module.eval()(*call)
    results = ReferenceProgram(file).run_method("forward", list(call))
    assert difference(results, expected) <= LIMITS[precision == "fp16"]


def _form(payload: bytes) -> tuple[Any, ...]:
    graph, _ = read_mps_graph(payload)
    ids = [
        {name: value for name, value in vars(node.mpsnode_union).items() if name.endswith(("_id", "_ids"))}
        for node in graph.mps_nodes
    ]
    values = [(value.datatype, value.dims, value.constant_buffer_size) for value in graph.mps_values]
    names = [type(node.mpsnode_union).__name__ for node in graph.mps_nodes]
    return names, ids, values, graph.input_ids, graph.output_ids, graph.constant_ids
