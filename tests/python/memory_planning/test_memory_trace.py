# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a memory plan for Chrome's trace viewer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from sdk.exir import to_edge
from sdk.util.activation_memory_profiler import generate_memory_trace
from sdk.util.memory_plan_page import write_memory_plan_page


@pytest.fixture(scope="module")
def manager():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Softmax(-1), torch.nn.Linear(8, 2))
    return to_edge(torch.export.export(model.eval(), (torch.randn(3, 4),))).to_executorch()


@pytest.mark.parametrize("offsets", [False, True])
def test_a_row_for_each_instruction(manager, tmp_path: Path, offsets: bool) -> None:
    """MEM2-01 MEM2-02 MEM2-03 MEM2-04, MEM-13, DT-07: one row per step and arena, megabytes on the axis; offsets."""
    path = tmp_path / "memory_profile.json"
    generate_memory_trace(
        executorch_program_manager=manager, chrome_trace_filename=str(path), enable_memory_offsets=offsets
    )
    events = json.loads(path.read_text())["traceEvents"]
    plan = manager.executorch_program.execution_plan[0]
    boxes = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in boxes} == set(range(len(plan.chains[0].instructions)))
    assert {event["pid"] for event in boxes} == {1}
    (softmax,) = {e["tid"] for e in events if e["ph"] == "M" and "softmax" in e["args"]["name"]}
    # The operator reads 3 x 8 floats and writes as many, with nothing else alive but the output's planned memory.
    row = sorted((e["ts"], e["dur"]) for e in boxes if e["tid"] == softmax)
    assert [size for _, size in row].count(96) == 2
    if offsets:
        assert all(start + size <= plan.non_const_buffer_sizes[1] for start, size in row)
        assert all(event["ts"] == event["args"]["offset"] for event in boxes)
    else:
        assert [start for start, _ in row] == [sum(size for _, size in row[:i]) for i in range(len(row))]


def test_an_unknown_method(manager, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no method 'encode'; it has \['forward'\]"):
        generate_memory_trace(manager, tmp_path / "x.json", method_name="encode")


def test_a_page_with_a_box_for_each_tensor(manager, tmp_path: Path) -> None:
    """MEM-13: the picture of the plan, drawn by the API."""
    write_memory_plan_page(manager, tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text()
    planned = [
        v.val for v in manager.executorch_program.execution_plan[0].values if getattr(v.val, "allocation_info", None)
    ]
    assert page.count('class="box') == len(planned)
    assert "made by aten::_softmax.out" in page
    assert "alive from instruction" in page
    with pytest.raises(ValueError, match=r"no method 'encode'; it has \['forward'\]"):
        write_memory_plan_page(manager, tmp_path / "none.html", method_name="encode")
    assert not (tmp_path / "none.html").exists()


def test_a_part_of_a_tensor_is_not_made_by_its_reader(tmp_path: Path) -> None:
    class Parts(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first, second = x.sin().split(2)
            return first.exp() @ second.T

    made = to_edge(torch.export.export(Parts(), (torch.randn(4, 3),))).to_executorch()
    write_memory_plan_page(made, tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text()
    assert "a view of another tensor" in page
