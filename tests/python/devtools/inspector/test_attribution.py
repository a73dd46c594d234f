# SPDX-License-Identifier: BSD-3-Clause
"""Nearly all of the time of a call belongs to nodes with a line of the model's source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram, export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import zoo
from bench.tracing import has_line, is_instruction
from declared import default, quantizer
from sdk.devtools import Inspector
from sdk.devtools.inspector import Event
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime

RUNS = 10


def captured(name: str) -> tuple[ExportedProgram, tuple[Any, ...]]:
    """A model of the zoo; int8 with `mobilenet int8`."""
    name, _, scheme = name.partition(" ")
    method = zoo.build(name).methods["forward"]
    inputs = method.calls[0]
    program = export(method.module, inputs, dynamic_shapes=method.dynamic_shapes)
    if scheme:
        prepared = prepare_pt2e(program.module(), quantizer())
        prepared(*inputs)
        program = export(convert_pt2e(prepared), inputs)
    return program, inputs


@pytest.mark.sampled
@pytest.mark.parametrize("delegated", [False, True], ids=["kernels", "default backend"])
@pytest.mark.parametrize("name", ["mobilenet", "encoder", "lstm", "decoder_kv_cache", "mobilenet int8"])
def test_the_time_belongs_to_lines_of_the_model(name: str, delegated: bool, tmp_path: Path) -> None:
    """PROF-02, INS-01: at least 99 % of the time of instructions, and of delegates' operators. The share of the best of
    several runs counts, because other work of the machine is not a fault of the Inspector."""
    program, inputs = captured(name)
    partitioner = [default().make("partitioner")] if delegated else []
    manager = to_edge_transform_and_lower(program, partitioner=partitioner, generate_etrecord=True).to_executorch()
    loaded = Runtime.get().load_program(manager.buffer, enable_etdump=True)
    for _ in range(RUNS):
        loaded.load_method("forward").execute([x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    loaded.write_etdump_result_to_file(str(tmp_path / "m.etdp"))
    inspector = Inspector(str(tmp_path / "m.etdp"), etrecord=manager.get_etrecord())
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]

    everything = [event for event in block.events if is_instruction(event)]
    with_lines = [event for event in everything if has_line(event)]
    times = {id(event): event.perf_data.raw for event in block.events if event.perf_data is not None}
    assert all(len(raw) == RUNS for raw in times.values())
    inside = [event for event in block.events if event.is_delegated_op]
    assert bool(inside) == any(event.name == "DELEGATE_CALL" for event in block.events) == delegated

    def share(part: list[Event], all_: list[Event], run: int) -> float:
        return sum(times[id(e)][run] for e in part) / sum(times[id(e)][run] for e in all_)

    assert max(share(with_lines, everything, run) for run in range(RUNS)) >= 0.99
    if inside:
        lines_inside = [event for event in inside if has_line(event)]
        assert max(share(lines_inside, inside, run) for run in range(RUNS)) >= 0.99
    if not delegated:
        # Kernels follow each other without gaps: together they are the call.
        (call,) = [event for event in block.events if event.name == "Method::execute"]
        assert max(share(everything, [call], run) for run in range(RUNS)) >= 0.97
