# SPDX-License-Identifier: BSD-3-Clause
"""ETRecords: made during an export or from its results, saved, read, and refused."""

from __future__ import annotations

import copy
import io
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.export import Dim, export
from torch.fx.passes.infra.pass_base import PassResult

import sdk.export
from sdk.devtools import ETRecord, generate_etrecord, parse_etrecord
from sdk.devtools.etrecord._etrecord import ETRecordReservedFileNames
from sdk.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.exir.dialects._ops import ops

INPUTS = (torch.linspace(-1, 1, 6).reshape(2, 3), torch.tensor(True))


class Model(nn.Module):
    """A linear layer, a branch, operators with several results, and nested outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 3), nn.LayerNorm(3)

    def forward(self, x: torch.Tensor, kind: torch.Tensor) -> dict[str, Any]:
        y = torch.relu(self.linear(x)) * x + x
        z = torch.cond(kind, lambda a: a.sin(), lambda a: a.cos(), (y,))
        a, b = torch.split(self.norm(z), [1, 1], 0)
        return {"a": a, "b": (b, x.max(dim=1)[0])}


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(0)
    return Model().eval()


@pytest.fixture(scope="module")
def lowered(model: nn.Module) -> EdgeProgramManager:
    return to_edge_transform_and_lower(
        export(model, INPUTS), partitioner=[AddMulPartitionerDemo()], generate_etrecord=True
    )


@pytest.fixture(scope="module")
def saved(lowered: EdgeProgramManager, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("record") / "debug.etrecord"
    lowered.to_executorch().get_etrecord().save(path)
    return path


def handles(program: Any) -> list[tuple[str, int | None]]:
    return [(n.name, n.meta.get("debug_handle")) for n in program.graph.nodes if n.op == "call_function"]


def test_etr_01_the_record_holds_the_graphs_with_their_handles_and_the_maps(
    saved: Path, lowered: EdgeProgramManager, model: nn.Module
) -> None:
    """DEL-21: the graph in edge dialect is the one before delegation: a delegate's map names its nodes."""
    record = parse_etrecord(saved)
    assert record.exported_program is not None and isinstance(record.edge_dialect_program, torch.export.ExportedProgram)
    for program in (record.exported_program, record.edge_dialect_program):
        torch.testing.assert_close(program.module()(*INPUTS), model(*INPUTS), rtol=0, atol=0)
    edge = record.edge_dialect_program
    stack = next(n for n in edge.graph.nodes if n.name == "aten_relu_default").meta
    assert "torch.relu(self.linear(x))" in stack["stack_trace"] and "nn_module_stack" in stack
    known = {handle for _, handle in handles(edge)}
    manager = lowered.to_executorch()
    assert record._debug_handle_map == {"forward": {str(k): v for k, v in manager.debug_handle_map["forward"].items()}}
    (delegate,) = record._delegate_map["forward"].values()
    assert delegate["name"] == "BackendWithCompilerDemo"
    mapped = {handle for handles in delegate["delegate_map"].values() for handle in handles}
    assert mapped and mapped <= known
    names = {n.meta["debug_handle"]: n.name for n in edge.graph.nodes if "debug_handle" in n.meta}
    assert {names[h] for h in mapped} == {"aten_mul_tensor", "aten_add_tensor"}  # DEL-21


def test_etr_02_03_sessions_and_both_lowering_functions_keep_a_record(model: nn.Module, tmp_path: Path) -> None:
    """ETR-02, ETR-03, EXP-16"""
    session = sdk.export.export(model, [INPUTS], generate_etrecord=True)
    session.get_etrecord().save(tmp_path / "model_debug.etrecord")
    to_edge(export(model, INPUTS), generate_etrecord=True).to_executorch().get_etrecord().save(
        str(tmp_path / "edge_debug.etrecord")
    )
    with (tmp_path / "debug.etrecord").open("wb") as file:
        to_edge_transform_and_lower(export(model, INPUTS), generate_etrecord=True).to_executorch().get_etrecord().save(
            file
        )
    for name in ("model_debug", "edge_debug", "debug"):
        record = parse_etrecord(tmp_path / f"{name}.etrecord")
        torch.testing.assert_close(record.edge_dialect_program.module()(*INPUTS), model(*INPUTS))


def test_etr_04_the_record_survives_to_backend(model: nn.Module) -> None:
    edge = to_edge(export(model, INPUTS), generate_etrecord=True).transform([])
    record = edge.to_backend(AddMulPartitionerDemo()).to_executorch().get_etrecord()
    assert [d["name"] for d in record._delegate_map["forward"].values()] == ["BackendWithCompilerDemo"]
    assert "delegate" not in str(record.edge_dialect_program.graph)
    assert edge.to_executorch().get_etrecord()._delegate_map == {"forward": {}}, "each program has its own maps"


def test_etr_05_06_by_hand_from_the_programs_or_from_a_copy(model: nn.Module, tmp_path: Path) -> None:
    """ETR-06: the documents' code lowers the copy and passes the original, their text says to pass the copy. Both work
    here, and so does lowering without a copy."""
    exported = export(model, INPUTS)
    edge = to_edge(exported)
    edge_copy = copy.deepcopy(edge)
    for path, recorded, program in (
        ("a", edge, edge_copy.to_executorch()),
        ("b", edge_copy, edge.to_executorch()),
        ("c", edge, edge.to_executorch()),
    ):
        generate_etrecord(tmp_path / path, recorded, program, exported, {"extra": edge, "aten": exported})
        record = parse_etrecord(tmp_path / path)
        assert handles(record.edge_dialect_program) and set(record.graph_map) == {"extra/forward", "aten/forward"}
        for program in (record.edge_dialect_program, *record.graph_map.values()):
            torch.testing.assert_close(program.module()(*INPUTS), model(*INPUTS))


def test_etr_07_without_being_asked_for_there_is_none(model: nn.Module) -> None:
    """ETR-07"""
    with pytest.raises(RuntimeError, match="ETRecord was not generated: pass generate_etrecord=True"):
        to_edge(export(model, INPUTS)).to_executorch().get_etrecord()


def test_lowered_modules_and_methods_are_kept(lowered: EdgeProgramManager, model: nn.Module, tmp_path: Path) -> None:
    both = to_edge({"forward": export(model, INPUTS), "other": export(model, INPUTS)})
    generate_etrecord(tmp_path / "r", both, both.to_executorch(), extra_recorded_export_modules={"lowered": lowered})
    record = parse_etrecord(tmp_path / "r")
    assert set(record.edge_dialect_program) == {"forward", "other"}
    program = record.graph_map["lowered/forward"]
    assert "executorch_call_delegate" in str(program.graph)
    (module,) = [m for m in program.graph_module.children() if type(m).__name__ == "LoweredBackendModule"]
    (first,) = [m for m in lowered.exported_program().graph_module.children() if hasattr(m, "processed_bytes")]
    assert (module.backend_id, module.processed_bytes) == (first.backend_id, first.processed_bytes)
    assert [(c.key, c.value) for c in module.compile_specs] == [(c.key, c.value) for c in first.compile_specs]
    assert handles(module.original_module) == handles(first.original_module)
    torch.testing.assert_close(program.module()(*INPUTS), model(*INPUTS))


def test_dynamic_shapes_are_kept(tmp_path: Path) -> None:
    linear = nn.Linear(3, 2)
    exported = export(linear, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows", min=2, max=8)},))
    to_edge(exported, generate_etrecord=True).to_executorch().get_etrecord().save(tmp_path / "r")
    program = parse_etrecord(tmp_path / "r").edge_dialect_program
    assert [(int(r.lower), int(r.upper)) for r in program.range_constraints.values()] == [(2, 8)]
    torch.testing.assert_close(program.module()(torch.ones(7, 3)), linear(torch.ones(7, 3)))


def test_test_data_comes_from_lists_and_from_bundled_programs(lowered: EdgeProgramManager, tmp_path: Path) -> None:
    program = lowered.to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs([*INPUTS, 3, 0.5])
    record.update_reference_outputs([torch.ones(2)])
    record.save(tmp_path / "r")
    read = parse_etrecord(tmp_path / "r")
    torch.testing.assert_close(read._representative_inputs, [*INPUTS, 3, 0.5])
    torch.testing.assert_close(read._reference_outputs, {"forward": [torch.ones(2)]})
    case = SimpleNamespace(inputs=[torch.zeros(1)], expected_outputs=[torch.ones(1)])
    suites = [SimpleNamespace(method_name="forward", test_cases=[case])]
    bundled = SimpleNamespace(method_test_suites=suites, executorch_program=program)
    made = ETRecord()
    made.add_executorch_program(bundled)
    assert made._representative_inputs == case.inputs and made._reference_outputs == {
        "forward": [case.expected_outputs]
    }
    assert made._delegate_map == program.delegate_map
    case.expected_outputs = []
    with pytest.raises(ValueError, match="Missing at least one set of expected outputs for method forward"):
        made.update_reference_outputs(bundled)


def test_what_is_there_is_not_replaced_and_what_is_missing_is_said(
    lowered: EdgeProgramManager, model: nn.Module
) -> None:
    record = lowered.to_executorch().get_etrecord()
    for add, value in (
        (record.add_exported_program, export(model, INPUTS)),
        (record.add_edge_dialect_program, lowered),
        (record.add_executorch_program, lowered.to_executorch()),
    ):
        with pytest.raises(RuntimeError, match="already exists in the ETRecord"):
            add(value)
    with pytest.raises(RuntimeError, match="must contain edge dialect program and executorch program"):
        record.copy().save(io.BytesIO())
    for name in ETRecordReservedFileNames:
        with pytest.raises(RuntimeError, match="is a reserved name"):
            record.add_extra_export_modules({f"my_{name}": lowered})
    with pytest.raises(RuntimeError, match=r"takes what torch.export, to_edge or .* return, not a Linear"):
        ETRecord().add_edge_dialect_program(nn.Linear(1, 1))


def test_the_same_record_is_the_same_bytes(lowered: EdgeProgramManager) -> None:
    record, files = lowered.to_executorch().get_etrecord(), (io.BytesIO(), io.BytesIO())
    for file in files:
        record.save(file)
    assert files[0].getvalue() == files[1].getvalue()


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("the file was run",))


def test_nothing_in_a_record_is_run(saved: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    torch.save({"l": Evil()}, buffer)
    names = zipfile.ZipFile(saved).namelist()
    for name in [n for n in names if n.endswith(("_state_dict", "_constants", "_example_inputs"))] + [
        "reference_outputs"
    ]:
        path = tmp_path / "evil"
        with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
            for member in names:
                if member != name:
                    new.writestr(member, old.read(member))
            new.writestr(name, buffer.getvalue())
        with pytest.raises(RuntimeError, match="ETRecord"):
            parse_etrecord(path)


def test_other_files_are_refused(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(b"not a zip file")
    with pytest.raises(RuntimeError, match="Invalid etrecord file"):
        parse_etrecord(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("debug_handle_map", "{}")
    with pytest.raises(RuntimeError, match="ETRecord identifier missing"):
        parse_etrecord(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("ETRECORD_V0", "")
        file.writestr("debug_handle_map", "{")
    with pytest.raises(RuntimeError, match="'debug_handle_map' is not JSON"):
        parse_etrecord(path)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_programs_raise_an_error(saved: Path, tmp_path: Path, data: st.DataObject) -> None:
    """With a changed byte, the graph is still read as a program, or refused by a RuntimeError."""
    name = "edge_dialect_exported_program/forward"
    path = tmp_path / "damaged"
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            content = bytearray(old.read(member))
            if member == name:
                at = data.draw(st.integers(0, len(content) - 1))
                content[at] = data.draw(st.integers(0, 255))
            new.writestr(member, bytes(content))
    try:
        parse_etrecord(path)
    except RuntimeError as error:
        assert "ETRecord" in str(error)


def test_the_graph_after_transform_passes(tmp_path: Path) -> None:
    """ETR-01: the graph is in the record under ExecuTorch's name, and is read back from a file."""
    program = export(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), (torch.randn(4, 3),))

    def relu_to_sigmoid(module: torch.fx.GraphModule) -> PassResult:
        for node in module.graph.find_nodes(op="call_function", target=ops.edge.aten.relu.default):
            node.target = ops.edge.aten.sigmoid.default
        return PassResult(module, True)

    lowered = to_edge_transform_and_lower(program, transform_passes=[relu_to_sigmoid], generate_etrecord=True)
    record = lowered.to_executorch().get_etrecord()
    record.save(tmp_path / "record.bin")
    for each in (record, parse_etrecord(tmp_path / "record.bin")):
        (graph,) = each.graph_map.values()
        assert set(each.graph_map) == {"edge_after_transform/forward"}
        targets = {node.target for node in graph.graph.nodes}
        assert ops.edge.aten.sigmoid.default in targets and ops.edge.aten.relu.default not in targets
    plain = to_edge_transform_and_lower(program, generate_etrecord=True).to_executorch().get_etrecord()
    assert plain.graph_map is None
