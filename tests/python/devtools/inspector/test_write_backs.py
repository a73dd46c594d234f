# SPDX-License-Identifier: BSD-3-Clause
"""The Inspector with programs that end by writing new values back to their buffers and inputs: no node of the edge
program has these instructions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export

from declared import default
from sdk.debug.__main__ import main as debug_command
from sdk.devtools import ETRecord, Inspector
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

X = torch.linspace(-1, 1, 8).reshape(2, 4)


class Stateful(nn.Module):
    """A module with two buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.state: torch.Tensor
        self.other: torch.Tensor
        self.register_buffer("state", torch.zeros(2, 4))
        self.register_buffer("other", torch.ones(4, 4))
        self.linear = nn.Linear(4, 4)


class Copied(Stateful):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        self.state.copy_(x)
        return y


class OnlyCopied(Stateful):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.copy_(x)
        return x


class Added(Stateful):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.add_(x)
        return self.linear(self.state)


class Both(Stateful):
    """Two write-backs. One writes a part of a buffer; the old value of the other buffer is returned."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        old = self.state.clone()
        self.state.copy_(self.linear(x))
        self.other[1:3] = x.exp()
        return old, self.other.sum(0)


class ChangedInput(Stateful):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return self.linear(x).tan()


class InputAndState(Stateful):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.mul_(0.5).add_(x)
        x.copy_(self.state)
        return (self.state + self.other[:2]).cumsum(1)


MODELS = [Copied, OnlyCopied, Added, Both, ChangedInput, InputAndState]
CASES = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
DELEGATED = pytest.mark.parametrize("delegated", [False, True], ids=["kernels", "default backend"])


def lower(programs: Any, delegated: bool) -> Any:
    partitioner = [default().make("partitioner")] if delegated else []
    return to_edge_transform_and_lower(programs, partitioner=partitioner, generate_etrecord=True).to_executorch()


def of_the_original(record: ETRecord) -> ETRecord:
    """Converts the record to the original's form, which counts only results of delegates."""
    record = copy.copy(record)
    counted = record._instruction_id_to_num_outs_map or {}
    delegates = record._delegate_map or {}
    record._instruction_id_to_num_outs_map = {
        method: {index: count for index, count in counts.items() if index in delegates[method]}
        for method, counts in counted.items()
    }
    return record


def run(
    program: bytes, folder: Path, method: str = "forward", inputs: Sequence[torch.Tensor] = (X, X, X)
) -> dict[str, str]:
    loaded = Runtime.get().load_program(program, enable_etdump=True, debug_buffer_size=1 << 20)
    ran = loaded.load_method(method)
    for x in inputs:
        ran.execute((x.clone(),))
    paths = {"etdump_path": str(folder / "m.etdp"), "debug_buffer_path": str(folder / "m.bin")}
    loaded.write_etdump_result_to_file(*paths.values())
    return paths


@pytest.mark.sampled
@CASES
@DELEGATED
@pytest.mark.parametrize("original", [False, True], ids=["own record", "the original's"])
def test_every_kernel_has_its_time(model: type[nn.Module], delegated: bool, original: bool, tmp_path: Path) -> None:
    """PROF-02, INS-01: the record is used to read three calls and their trace."""
    torch.manual_seed(0)
    manager = lower(export(model().eval(), (X.clone(),)), delegated)
    plan = manager.executorch_program.execution_plan[0]
    calls = plan.chains[0].instructions
    record = manager.get_etrecord()
    inspector = Inspector(**run(manager.buffer, tmp_path), etrecord=of_the_original(record) if original else record)
    timed = {
        event._instruction_id
        for event in inspector.get_event_list()
        if event.perf_data is not None and (event._instruction_id or 0) >= 0 and event.name != "Method::execute"
    }
    assert timed >= set(range(len(calls)))
    writes = any(operator.name == "aten::copy_" for operator in plan.operators)
    assert writes or not delegated  # kernels compute some values in the buffers' memory
    assert writes == any("copy_" in event["name"] for event in inspector.trace_events()["traceEvents"])


@pytest.mark.sampled
@CASES
@DELEGATED
@pytest.mark.parametrize("reference", ["exported_program", "edge_dialect_program", "before/forward", None])
def test_the_first_call_is_compared(
    model: type[nn.Module], delegated: bool, reference: str | None, tmp_path: Path
) -> None:
    """INS-06: the state of the runtime and that of eager mode both begin with the value at the export."""
    torch.manual_seed(0)
    manager = lower(export(model().eval(), (X.clone(),)), delegated)
    record = manager.get_etrecord()
    record.add_extra_export_modules({"before": record.edge_dialect_program})
    gap = Inspector(**run(manager.buffer, tmp_path), etrecord=record).calculate_numeric_gap(
        "L1", reference_graph=reference
    )
    assert len(gap) > 0 or model is OnlyCopied
    assert all(value < 1e-4 for (value,) in gap["gap"])


@pytest.mark.parametrize("model", [Added, Both, InputAndState], ids=lambda model: model.__name__)
@DELEGATED
def test_a_later_run_of_a_method_with_state_is_not_compared(
    model: type[nn.Module], delegated: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """INS-06, DT-06: a run on the record's inputs, but with the state that an earlier run has left, is right."""
    torch.manual_seed(0)
    manager = lower(export(model().eval(), (X.clone(),)), delegated)
    files = run(manager.buffer, tmp_path, inputs=(X + 1, X))
    record = manager.get_etrecord()
    with pytest.raises(ValueError, match="of a method with state, only the first run is compared"):
        Inspector(**files, etrecord=record).calculate_numeric_gap("L1")
    manager.save(str(tmp_path / "m.pte"))
    record.save(tmp_path / "m.etrecord")
    given = ["--etdump", files["etdump_path"], "--debug-buffer", files["debug_buffer_path"], "--no-losses"]
    assert debug_command([str(tmp_path / "m.pte"), *given]) == 2
    assert "only the first run is compared" in capsys.readouterr().err
    run(manager.buffer, tmp_path, inputs=(X, X + 1, X))
    assert debug_command([str(tmp_path / "m.pte"), *given]) == 0


@DELEGATED
def test_the_method_that_ran_is_found(delegated: bool, tmp_path: Path) -> None:
    """INS-01: several methods with write-backs, each in a separate run."""
    methods = {name: export(model().eval(), (X.clone(),)) for name, model in (("forward", Both), ("reset", Copied))}
    manager = lower(methods, delegated)
    for method in methods:
        inspector = Inspector(**run(manager.buffer, tmp_path, method), etrecord=manager.get_etrecord())
        assert len(inspector.get_event_list()) > 0
        inspector = Inspector(
            **run(manager.buffer, tmp_path, method), etrecord=manager.get_etrecord(), method_name=method
        )
        assert inspector._sources is not None and inspector._sources.method == method


def test_more_instructions_than_write_backs_are_of_another_program(tmp_path: Path) -> None:
    class Longer(Copied):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).exp().cumsum(1).tan()

    paths = run(lower(export(Longer().eval(), (X.clone(),)), False).buffer, tmp_path)
    shorter = lower(export(Copied().eval(), (X.clone(),)), False).get_etrecord()
    for record in (shorter, of_the_original(shorter)):
        with pytest.raises(ValueError, match="are of different programs"):
            Inspector(paths["etdump_path"], etrecord=record)


@pytest.mark.sampled
@pytest.mark.parametrize("model", [model for model in MODELS if model is not OnlyCopied], ids=lambda m: m.__name__)
@DELEGATED
def test_debug_takes_the_record(model: type[nn.Module], delegated: bool, tmp_path: Path) -> None:
    """DT-06: `sdk debug` compares the instructions of the program with those of the record."""
    torch.manual_seed(0)
    manager = lower(export(model().eval(), (X.clone(),)), delegated)
    manager.save(str(tmp_path / "m.pte"))
    manager.get_etrecord().save(tmp_path / "m.etrecord")
    assert debug_command([str(tmp_path / "m.pte"), "--no-losses"]) == 0
