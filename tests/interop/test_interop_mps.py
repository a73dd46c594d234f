# SPDX-License-Identifier: BSD-3-Clause
"""Payloads for MPS, exchanged with the original: its payloads give eager's results in our interpreter, its schema reads
ours, and the nodes are the same where the original's are right."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # its operators

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "backends" / "apple" / "mps" / "test"), str(ROOT / "tests")]

from exchange_apple import MODELS as LARGER  # noqa: E402
from exchange_apple import Figures, make  # noqa: E402
from mps_cases import all_calls  # noqa: E402
from mps_lowering import LIMITS, difference, lower_call, specs  # noqa: E402
from mps_programs import expected_of, tensors_of  # noqa: E402
from oracle_mps import FEW, chosen  # noqa: E402

import sdk.backends.apple.mps.operators  # noqa: E402, F401 - registers the visitors
from interop.originals import InOriginal, in_the_implemented_release  # noqa: E402
from sampling import values_in_tests  # noqa: E402
from sdk.backends.apple.mps.operators.node_visitor import get_node_visitors  # noqa: E402
from sdk.backends.apple.mps.partition import MPSPartitioner  # noqa: E402
from sdk.backends.apple.mps.serialization.mps_graph_serialize import read_mps_graph  # noqa: E402
from sdk.backends.apple.mps.verify import run  # noqa: E402
from sdk.backends.apple.mps.verify.program import ReferenceProgram  # noqa: E402
from sdk.exir import to_edge_transform_and_lower  # noqa: E402
from zoo import vision  # noqa: E402, F401 - registers its models
from zoo.case import build  # noqa: E402

pytestmark = [pytest.mark.oracle, in_the_implemented_release]  # later ones do not have MPS
CALLS = all_calls()
REFUSED = {"unet": "tuple index out of range", "minilm": "flatc"}
"""Larger models that the original does not lower, and its error for each. The first has a pooling without strides, the
second an argument True in place of a number."""
GRAPH = 4096
"""Bytes by which our payload may be larger: nodes for operators that the original leaves out or computes otherwise."""
EACH_DAY = ("resnet", "fp16")
"""The model and the precision that are tested in every sampled run."""
MODELS = ("mobilenet", "resnet")
"""Models of which the original makes one delegate. With several, it carries ids of numbers over to the next payload,
which then refers to values that it does not contain; the interpreter refuses such payloads."""


SCRIPT = ROOT / "tests" / "interop" / "oracle_mps.py"


@pytest.fixture(scope="module")
def original(in_original: InOriginal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the original's payloads, its names, and the contents that it reads from our payloads."""
    folder = tmp_path_factory.mktemp("mps")
    for number, call in chosen(CALLS).items():
        (folder / f"{number}.payload").write_bytes(lower_call(call, False))
    in_original(SCRIPT, folder, "names", "lower", "read")
    return folder


@pytest.fixture(scope="module")
def models(request: pytest.FixtureRequest, in_original: InOriginal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the original's programs of the models that are tested."""
    folder = tmp_path_factory.mktemp("models")
    wanted = sorted(values_in_tests(request, "program"))
    (folder / "models.json").write_text(json.dumps(wanted))
    for name in {program.partition(".")[0] for program in wanted}:
        (method,) = build(name).methods.values()
        torch.export.save(torch.export.export(method.module.eval(), tuple(method.calls[0])), folder / f"{name}.pt2")
    in_original(SCRIPT, folder, "models")
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
    """For calls with `same`, our nodes equal the original's: types, ids, dtypes, sizes and the bytes of constants."""
    compared = 0
    for number, call in chosen(CALLS).items():
        if call.same:
            theirs = _form((original / f"{number}.{precision}.mps").read_bytes())
            assert _form(lower_call(call, precision == "fp16")) == theirs, call
            compared += 1
    assert compared > 80


def test_the_original_s_schema_reads_our_payloads(original: Path) -> None:
    for number, call in chosen(CALLS).items():
        _compare_what_was_read(original / f"{number}.payload", call)


def _compare_what_was_read(payload: Path, about: Any) -> None:
    """Compares the graph of a payload with the one that the original's schema reads."""
    graph, _ = read_mps_graph(payload.read_bytes())
    read = json.loads(payload.with_suffix(".json").read_text())
    assert read["input_ids"] == graph.input_ids and read["output_ids"] == graph.output_ids, about
    assert len(read["mps_values"]) == len(graph.mps_values)
    for have, want in zip(read["mps_nodes"], graph.mps_nodes, strict=True):
        assert have["mpsnode_union_type"] == type(want.mpsnode_union).__name__, about
        for name, value in have["mpsnode_union"].items():
            expected: Any = getattr(want.mpsnode_union, name)
            named = getattr(expected, "name", expected)  # of an enumeration
            assert value == (pytest.approx(named, rel=1e-6) if isinstance(named, float) else named), (about, name)


PROGRAMS = [
    pytest.param(
        f"{name}.{precision}",
        id=f"{name}-{precision}",
        marks=[] if (name, precision) == EACH_DAY else [pytest.mark.sampled],
    )
    for name in MODELS
    for precision in ("fp32", "fp16")
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_models_of_the_original_give_eager_results(models: Path, program: str) -> None:
    file = models / f"{program}.pte"
    assert file.exists(), (models / f"{program}.error.txt").read_text()[-1500:]
    name, _, precision = program.partition(".")
    (method,) = build(name).methods.values()
    call = method.calls[0]
    with torch.no_grad():
        expected = method.module.eval()(*call)
    results = ReferenceProgram(file).run_method("forward", list(call))
    assert difference(results, expected) <= LIMITS[precision == "fp16"]


@pytest.mark.slow
def test_payloads_and_operators_outside_beside_the_original_s(oracle_python: str, tmp_path: Path) -> None:
    """In float16: our programs of larger models give eager's results, their payloads are no larger than the original's,
    and no more operators are outside. int4 and palettised weights are formats that MPS has no operators for."""
    names = [name for name, spec in LARGER.items() if spec]
    for name in names:
        torch.export.save(torch.export.export(*make(name)), tmp_path / f"{name}.pt2")
    subprocess.run([oracle_python, "-W", "ignore", SCRIPT, tmp_path, "models_fp16"], check=True, capture_output=True)
    for name in names:
        model, inputs = make(name)
        with torch.no_grad():
            expected = model(*inputs)
        model, inputs = make(name)  # states as at the start
        program = torch.export.export(model, inputs)
        manager = to_edge_transform_and_lower(program, partitioner=[MPSPartitioner(specs(True))])
        file = tmp_path / f"{name}.ours.pte"
        file.write_bytes(manager.to_executorch().buffer)
        assert difference(ReferenceProgram(file).run_method("forward", list(inputs)), expected) <= LIMITS[True], name
        if name in REFUSED:
            assert REFUSED[name] in (tmp_path / f"{name}.fp16.error.txt").read_text()
            continue
        ours, theirs = (Figures.of((tmp_path / f"{name}.{whose}.pte").read_bytes()) for whose in ("ours", "fp16"))
        assert ours.payload <= 1.01 * theirs.payload + GRAPH, (name, ours, theirs)
        assert len(ours.outside) <= len(theirs.outside), (name, ours, theirs)


def _form(payload: bytes) -> tuple[Any, ...]:
    graph, _ = read_mps_graph(payload)
    ids = [
        {name: value for name, value in vars(node.mpsnode_union).items() if name.endswith(("_id", "_ids"))}
        for node in graph.mps_nodes
    ]
    values = [(value.datatype, value.dims, value.constant_buffer_size) for value in graph.mps_values]
    names = [type(node.mpsnode_union).__name__ for node in graph.mps_nodes]
    return names, ids, values, graph.input_ids, graph.output_ids, graph.constant_ids


WRONG = {
    "TestMPSAdd.test_constant_add.0": "a delegate returns 2 tensors; the program expects 1",
    "TestMPSUnitOpTesting.test_mps_backend_partitioner.0": "the program expects .4. and torch.int64",
}
"""Models that the original lowers wrongly, and the interpreter's errors: a delegate returns more tensors than its
program expects, and the first input of another one is a constant of the model, which no program passes."""

FAILS = {
    "TestLinear.test_qd8_fp32_per_token_weight_per_channel_group_int4.0": "not linked with support for mps",
    "TestLinear.test_qd8_fp32_per_token_weight_per_channel_group_int4.1": "not linked with support for mps",
    "TestMPSUnitOpTesting.test_mps_backend_slice_copy_stride_non_1.0": "torch.export",
}
"""Models that the original does not lower here, and the reasons: it packs int4 weights on an Apple GPU, and
torch.export refuses a slice with a negative step, as the original's test expects."""

UNDEFINED = {"TestMPSUnitOpTesting.test_mps_backend_empty.0"}
"""Models whose results are uninitialised memory. Only their shapes and dtypes are compared."""

PLACES = {"TestMPSUnitOpTesting.test_mps_backend_max_dim.0"}
"""Models that return the indices of largest elements. In float16 several elements may be equally large."""

TESTS = {
    "test_mps": (151, 165),
    "test_mps_binary_ops": (17, 17),
    "test_mps_indexing_ops": (14, 14),
    "test_mps_linear": (10, 2),
    "test_mps_unary_ops": (1, 1),
}
"""Test module of the original -> the number of its tests, and the number of models that they lower. The original skips
12 tests."""


@pytest.mark.sampled
def test_few_models_of_the_original_s_own_tests(in_original: InOriginal, tmp_path: Path) -> None:
    """Programs that the original lowers, and those that we lower, give eager's results in the interpreter."""
    in_original(SCRIPT, tmp_path, "tests")
    assert _check_tests(tmp_path / "tests", FEW) == 17


@pytest.mark.slow
def test_models_of_the_original_s_own_tests(oracle_python: str, tmp_path: Path) -> None:
    """All tests of the original; the gate runs only a few of them."""
    script = ROOT / "tests" / "interop" / "oracle_mps_cases.py"
    with (tmp_path / "log").open("w") as log:
        subprocess.run([oracle_python, "-W", "ignore", script, tmp_path, *TESTS], check=True, stdout=log, stderr=log)
    assert _check_tests(tmp_path, list(TESTS)) == 198


def _check_tests(folder: Path, modules: Sequence[str]) -> int:
    """Lowers the models of the tests in the original's modules in both precisions, and checks the results. Returns the
    number of programs."""
    tests = json.loads((folder / "tests.json").read_text())
    models = [f"{test}.{number}" for test, count in tests.items() if isinstance(count, int) for number in range(count)]
    assert (len(tests), len(models)) == tuple(map(sum, zip(*(TESTS[module] for module in modules), strict=True)))
    count = 0
    for name in models:
        _check_theirs(folder, name)
        if (folder / f"{name}.pt2").exists():
            _check_ours(folder, name)
            count += 1
    return count


def _check_theirs(folder: Path, name: str) -> None:
    program, error = folder / f"{name}.pte", folder / f"{name}.error.txt"
    if name in FAILS:
        assert FAILS[name] in error.read_text(), name
        return
    assert not error.exists(), f"{name}: {error.read_text()}"
    inputs, changed, expected = _eager(folder / f"{name}.pt2")
    if name in WRONG:
        with pytest.raises(ValueError, match=WRONG[name]):
            ReferenceProgram(program).run_method("forward", inputs)
    else:
        _compare(ReferenceProgram(program).run_method("forward", inputs), [*changed, *expected], False, name)


def _check_ours(folder: Path, name: str) -> None:
    file, ours = folder / f"{name}.pt2", folder / f"{name}.ours.pte"
    for use_fp16 in (False, True):
        inputs, _, expected = _eager(file, quantizes=not use_fp16)
        manager = to_edge_transform_and_lower(torch.export.load(file), partitioner=[MPSPartitioner(specs(use_fp16))])
        ours.write_bytes(manager.to_executorch().buffer)
        _compare(ReferenceProgram(ours).run_method("forward", inputs), expected, use_fp16, name)


def _eager(exported: Path, quantizes: bool = True) -> tuple[list[Any], list[torch.Tensor], list[Any]]:
    """Returns the inputs of a program, the inputs that it changes, and its results, computed by PyTorch; without the
    quantisation of activations for each token if `quantizes` is off."""
    program = torch.export.load(exported)
    inputs = list(program.example_inputs[0])
    given = [each.clone() if isinstance(each, torch.Tensor) else each for each in inputs]
    module: Any = program.module()
    for node in module.graph.nodes:
        if not quantizes and node.target is torch.ops.quantized_decomposed.dequantize_per_token.default:
            node.replace_all_uses_with(node.args[0].args[0])
    module.recompile()
    with torch.no_grad():
        results = module(*given)
    pairs = [(g, i) for g, i in zip(given, inputs, strict=True) if isinstance(g, torch.Tensor)]
    changed = [g for g, i in pairs if difference([g], [i]) > 0]
    return inputs, changed, list(results)


def _compare(results: Sequence[Any], expected: Sequence[Any], use_fp16: bool, name: str) -> None:
    """Compares results with eager's. In float16, compares nothing if eager has a value beyond its range."""
    assert len(results) == len(expected), name
    pairs = list(zip(results, expected, strict=True))
    if name in UNDEFINED:
        assert all(r.shape == e.shape and r.dtype == e.dtype for r, e in pairs), name
        return
    if use_fp16:
        if name in PLACES:
            pairs = [(r, e) for r, e in pairs if e.is_floating_point()]
        limit = torch.finfo(torch.float16).max
        if any(e.is_floating_point() and e.numel() and not e.abs().max() < limit for _, e in pairs):
            return
    assert difference([r for r, _ in pairs], [e for _, e in pairs]) <= LIMITS[use_fp16], name
