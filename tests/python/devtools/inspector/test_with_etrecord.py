# SPDX-License-Identifier: BSD-3-Clause
"""The Inspector with an ETRecord, on programs that run here: it finds the nodes and source lines, and compares with
eager mode."""

from __future__ import annotations

import contextlib
import copy
import io
from pathlib import Path
from typing import Any

import dumps
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.export import export

from declared import default
from sdk.devtools import ETRecord, Inspector
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.core import BundledProgram
from sdk.devtools.inspector._inspector_utils import propagate_back_debug_handle
from sdk.devtools.inspector.numerical_comparator import NumericalComparatorBase
from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.debug_handle_utils import UNSET_DEBUG_HANDLE
from sdk.runtime import Runtime

INPUTS = (torch.linspace(-1, 1, 3 * 16 * 16).reshape(1, 3, 16, 16),)


class Net(nn.Module):
    """A convolution, a norm and a linear layer, which the default backend takes, and two operators that it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3), nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.conv(x).relu().mean((2, 3)))
        return self.head(y).cumsum(1).tan()


def make(module: nn.Module, delegated: bool) -> Any:
    partitioner = [default().make("partitioner")] if delegated else []
    lowered = to_edge_transform_and_lower(export(module, INPUTS), partitioner=partitioner, generate_etrecord=True)
    return lowered.to_executorch()


def record_run(pte: bytes, folder: Path, inputs: tuple[torch.Tensor, ...] = INPUTS) -> dict[str, str]:
    program = Runtime.get().load_program(pte, enable_etdump=True, debug_buffer_size=1 << 22)
    program.load_method("forward").execute(inputs)
    paths = {"etdump_path": str(folder / "m.etdp"), "debug_buffer_path": str(folder / "m.bin")}
    program.write_etdump_result_to_file(*paths.values())
    return paths


@pytest.fixture(scope="module")
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture(scope="module", params=[False, True], ids=["kernels", "default backend"])
def made(request: pytest.FixtureRequest, net: Net, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = make(net, request.param)
    folder = tmp_path_factory.mktemp("made")
    program.get_etrecord().save(folder / "m.etrecord")
    paths = record_run(program.buffer, folder)
    return {"etrecord": str(folder / "m.etrecord"), "delegated": request.param, **paths}


def inspect(made: dict[str, Any]) -> Inspector:
    return Inspector(**{name: value for name, value in made.items() if name != "delegated"})


def test_nodes_of_another_graph_of_the_record(net: Net, tmp_path: Path) -> None:
    """The events get their source lines from the graph of the record that the call names."""
    program = make(net, delegated=False)
    paths = record_run(program.buffer, tmp_path)
    record = program.get_etrecord()
    other = copy.deepcopy(record.edge_dialect_program)
    for node in other.graph.nodes:
        node.meta["stack_trace"] = f"line of {node.name}"
    record.graph_map = {"other/forward": other}

    def lines(**how: Any) -> set[str]:
        events = [e for block in Inspector(**paths, etrecord=record, **how).event_blocks for e in block.events]
        return {
            line for event in events if event.name.startswith("native_call_") for line in event.stack_traces.values()
        }

    named = lines(reference_graph_name="other/forward")
    assert named and all(line.startswith("line of ") for line in named)
    assert lines() == lines(reference_graph_name="edge_dialect_graph_module")
    assert not named & lines()
    with pytest.raises(ValueError, match=r"'none'; the ETRecord has 'edge_dialect_graph_module', 'other/forward'"):
        Inspector(**paths, etrecord=record, reference_graph_name="none")


def test_prof_04_events_have_nodes_and_lines(made: dict[str, Any]) -> None:
    """INS-01, INS-04, INS-05, ETR-01, DEL-21, DEL-22, RTB-09, DBG-02, DT-03, DT-04, DT-09, DT-12, PROF-02, PROF-04,
    XNN-17"""
    inspector = inspect(made)
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]
    operators = set(inspector.get_op_list("Execute"))
    assert {"aten.cumsum.default", "aten.tan.default", "aten.convolution.default"} <= operators
    parts = [e for e in block.events if e.is_delegated_op or e.name.startswith("native_call_")]
    for event in parts:
        assert event.op_types and event.handles, event
        assert all(__file__ in trace for trace in event.stack_traces.values()), event
    inside = [event for event in parts if event.is_delegated_op]
    assert bool(inside) == made["delegated"]
    assert {event.delegate_backend_name for event in inside} <= {default().id}
    assert 0 < inspector.find_total_for_module("conv") == inspector.find_total_for_module("L__self___conv")
    assert inspector.find_total_for_module("no_such_module") == 0
    if inside:  # not the whole call, in which the other modules are too
        (call,) = [event for event in block.events if event.name == "DELEGATE_CALL"]
        modules = ("conv", "norm", "head")
        assert call.perf_data is not None
        assert sum(map(inspector.find_total_for_module, modules)) <= call.perf_data.avg
    program = inspector.get_exported_program()
    assert program is not None and "aten_tan_default" in str(program)
    assert inspector.get_exported_program("exported_program") is not None
    inspector.print_data_tabular(io.StringIO())


@pytest.mark.parametrize("distance", ["L1", "MSE", "SNR"])
def test_ins_06_gap_of_a_sound_program(made: dict[str, Any], distance: str) -> None:
    """INS-06, DT-06, MDB-03: each operator in the order of the graph. Operators in delegates are compared by their
    results."""
    gap = inspect(made).calculate_numeric_gap(distance)
    names = [name for ops in gap["aot_ops"] for name in ops]
    assert names[-3:] == ["linear", "cumsum", "tan"]
    assert made["delegated"] or names[0] == "conv2d"
    for (value,) in gap["gap"]:
        assert value > 80 if distance == "SNR" else value < 1e-4


def test_results_of_a_delegate_are_those_that_are_read_outside(tmp_path: Path) -> None:
    """The sum is read after the delegate, too; the norm has the same shape and two results that nothing reads."""

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            total = x + x.flip(2)
            return total + torch.nn.functional.gelu(self.head(self.norm(total))).cumsum(1)

    torch.manual_seed(0)
    program = make(Residual().eval(), delegated=True)
    program.get_etrecord().save(tmp_path / "m.etrecord")
    paths = record_run(program.buffer, tmp_path)
    gap = Inspector(**paths, etrecord=str(tmp_path / "m.etrecord")).calculate_numeric_gap("MSE")
    assert {"add", "gelu"} <= {name for ops in gap["aot_ops"] for name in ops}
    assert all(value < 1e-9 for (value,) in gap["gap"])


def test_calls_of_the_exported_program_have_the_handles_of_their_edge_nodes() -> None:
    """A cast to the same dtype has no edge node, so its handle is unset. An element has the handle of its tuple."""

    class Cast(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            low, high = torch.aminmax((x + 1).to(x.dtype), dim=1)
            return high - low

    exported = export(Cast(), (torch.randn(2, 3),))
    assert propagate_back_debug_handle(exported, id(exported.graph), to_edge(exported).exported_program())
    handles = [(n.name, n.meta["debug_handle"]) for n in exported.graph.nodes if n.op == "call_function"]
    cast = [("_assert_tensor_metadata_default", UNSET_DEBUG_HANDLE), ("to", UNSET_DEBUG_HANDLE)]
    assert handles == [("add", 1), *cast, ("aminmax", 2), ("getitem", 2), ("getitem_1", 2), ("sub", 3)]


@pytest.mark.parametrize("wrong", ["norm", "conv", "head"])
def test_ins_06_the_first_wrong_operator(net: Net, wrong: str, tmp_path: Path) -> None:
    """INS-06, DT-06: a program with a wrong weight, and the record of the right one."""
    right = make(net, False)
    damaged = copy.deepcopy(net)
    with torch.no_grad():
        getattr(damaged, wrong).weight[0] *= 3
    paths = record_run(make(damaged, False).buffer, tmp_path)
    gap = Inspector(**paths, etrecord=right.get_etrecord()).calculate_numeric_gap("MSE")
    first = next(ops[-1] for ops, (value,) in zip(gap["aot_ops"], gap["gap"], strict=True) if value > 1e-6)
    assert first == {"conv": "conv2d", "norm": "layer_norm", "head": "linear"}[wrong]


def test_ins_06_own_comparator_and_graphs(made: dict[str, Any]) -> None:
    class Largest(NumericalComparatorBase):
        def element_compare(self, a: Any, b: Any) -> float:
            assert self.inspector is not None
            first, found = (value[0] if isinstance(value, tuple) else value for value in (a, b))  # of several results
            return float((first.reshape(-1) - found.reshape(-1)).abs().max())

    inspector = inspect(made)
    for graph in (None, "exported_program", "edge_dialect_program", "edge_dialect_exported_program"):
        gap = inspector.calculate_numeric_gap(Largest(), reference_graph=graph)
        assert len(gap) >= 3 and all(value < 1e-4 for (value,) in gap["gap"])
    with pytest.raises(ValueError, match="no distance 'L3'; expected 'L1', 'MSE', 'SNR'"):
        inspector.calculate_numeric_gap("L3")
    with pytest.raises(ValueError, match="has no program 'x'; expected 'exported_program'"):
        inspector.calculate_numeric_gap("L1", reference_graph="x")
    without = Inspector(made["etdump_path"], etrecord=made["etrecord"])
    with pytest.raises(ValueError, match="pass debug_buffer_path="):
        without.calculate_numeric_gap("L1")


def test_of_another_program(made: dict[str, Any], net: Net) -> None:
    other = to_edge(export(nn.Sequential(nn.Flatten(), nn.Linear(768, 2)).eval(), INPUTS), generate_etrecord=True)
    with pytest.raises(ValueError, match=r"are of different programs: .*Pass the ETRecord"):
        Inspector(made["etdump_path"], etrecord=other.to_executorch().get_etrecord())
    with pytest.raises(ValueError, match="the ETRecord has no method 'encode', it has 'forward'"):
        Inspector(made["etdump_path"], etrecord=made["etrecord"], method_name="encode")
    delegated = make(net, not made["delegated"]).get_etrecord()
    with pytest.raises(ValueError, match=r"calls a (kernel|delegate)"):
        Inspector(made["etdump_path"], etrecord=delegated)


def test_reference_outputs_of_a_bundled_program(net: Net) -> None:
    """DT-01: a block of a run of case 1 has that case's outputs to compare with."""
    program = make(net, False)
    cases = [MethodTestCase([INPUTS[0] * k], [net(INPUTS[0] * k).detach()]) for k in (1, 2)]
    record = ETRecord()
    record.add_edge_dialect_program(to_edge(export(net, INPUTS)))
    record.add_executorch_program(BundledProgram(program, [MethodTestSuite("forward", cases)]))
    run = dumps.run(dumps.profile("Method::execute", 0, 1), index=1)
    (block,) = Inspector(etdump_data=dumps.dump(run), etrecord=record).event_blocks
    assert block.bundled_input_index == 1 and block.reference_output is not None
    assert torch.equal(block.reference_output[0], cases[1].expected_outputs[0])


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_damaged_records_are_refused(made: dict[str, Any], data: st.DataObject) -> None:
    """A cut or changed ETRecord is an error of one kind, and nothing in it is run."""
    content = bytearray(Path(made["etrecord"]).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = Path(made["etrecord"]).with_name("damaged.etrecord")
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with contextlib.suppress(RuntimeError, ValueError):
        Inspector(made["etdump_path"], etrecord=str(path))
