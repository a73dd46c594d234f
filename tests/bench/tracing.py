# SPDX-License-Identifier: BSD-3-Clause
"""What recording an ETDump costs, and whether its times are those of a call without one.

A model runs untraced and traced in turns, in CPU time of the thread. The sum of the instructions' events, which are
wall times, is compared with the wall time of an untraced call; both use the fastest
quarter of the samples, without interruptions.
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram, export

from bench.worker import load_model
from declared import default, quantizer
from sdk.devtools import Inspector
from sdk.devtools.inspector import Event
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.pybindings import portable_lib
from sdk.runtime import Method, Runtime

TRACED = ("MobileNetV2", "MiniLM", "LSTM 2x50", "KV decoder", "MLP")
INT8 = "MobileNetV2"
# Defined in a file: for nn.Sequential, lines are those of torch's modules.
LINE = re.compile(r'File "(?!<)[^"]+", line \d+')
LARGEST_SAMPLE = 0.03  # seconds
NOISE = 0.02  # of a call


def has_line(event: Event) -> bool:
    return any(LINE.search(trace) for trace in event.stack_traces.values())


def is_instruction(event: Event) -> bool:
    """Whether the event is the measurement of an instruction: the kernel's own event, or the call of a delegate."""
    return event.name.startswith("native_call_") or event.name == "DELEGATE_CALL"


def main(models: Mapping[str, str], rounds: int) -> int:
    """Prints a row for each model, on kernels and with the default backend."""
    portable_lib._unsafe_reset_threadpool(1)
    print("| model | runs on | call µs | tracing adds | events | ns an event | sum of events / call | with lines |")
    print("|---|---|---|---|---|---|---|---|")
    for label, source in models.items():
        torch.manual_seed(0)
        model, inputs = load_model(source)
        program = export(model.eval(), inputs)
        variants = [(label, program)] + ([(f"{label}, int8", _quantized(program, inputs))] if label == INT8 else [])
        for name, variant in variants:
            for delegated in (False, True):
                print(_row(name, variant, inputs, delegated, rounds), flush=True)
    return 0


def _quantized(program: ExportedProgram, inputs: tuple[Any, ...]) -> ExportedProgram:
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    prepared = prepare_pt2e(program.module(), quantizer())
    prepared(*inputs)
    return export(convert_pt2e(prepared), inputs)


def _row(label: str, program: ExportedProgram, inputs: tuple[Any, ...], delegated: bool, rounds: int) -> str:
    partitioner = [default().make("partitioner")] if delegated else []
    manager = to_edge_transform_and_lower(program, partitioner=partitioner, generate_etrecord=True).to_executorch()
    plain = Runtime.get().load_program(manager.buffer).load_method("forward")
    traced_program = Runtime.get().load_program(manager.buffer, enable_etdump=True)
    traced = traced_program.load_method("forward")
    assert plain is not None and traced is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.etdp"
        for method in (plain, traced):
            method.execute(inputs)
        _, once = _time(plain, inputs, 1)
        batch = max(1, min(200, int(LARGEST_SAMPLE / once)))
        before, added, walls, sums = [], [], [], []
        inspector = None
        for turn in range(rounds):
            taken = {method: _time(method, inputs, batch) for method in ((plain, traced), (traced, plain))[turn % 2]}
            (untraced, wall), (with_events, _) = taken[plain], taken[traced]
            before.append(untraced)
            added.append(with_events - untraced)
            walls.append(wall)
            traced_program.write_etdump_result_to_file(str(path))
            inspector = Inspector(str(path), etrecord=manager.get_etrecord()) if inspector is None else inspector
            sums.append(statistics.mean(_sums(Inspector(str(path)))[1:]))
        assert inspector is not None
        share, count = _attributed(inspector)
    call, more = statistics.median(before), statistics.median(added)
    ratio = _fast(sums) / _fast(walls)
    cells = [label, "default backend" if delegated else "kernels", f"{call * 1e6:,.1f}", f"{more / call:.1%}"]
    event = f"{more * 1e9 / count:.0f}" if more > NOISE * call else "–"
    cells += [str(count), event, f"{ratio:.3f}", f"{share:.1%}"]
    return f"| {' | '.join(cells)} |"


def _time(method: Method, inputs: tuple[Any, ...], batch: int) -> tuple[float, float]:
    """Seconds of a call: of the thread's CPU, and of the clock. The first call, after other work, is not measured."""
    method.execute(inputs)
    start, wall = time.thread_time_ns(), time.perf_counter_ns()
    for _ in range(batch):
        method.execute(inputs)
    return (time.thread_time_ns() - start) / batch / 1e9, (time.perf_counter_ns() - wall) / batch / 1e9


def _fast(values: list[float]) -> float:
    return statistics.quantiles(values, n=4)[0] if len(values) > 1 else values[0]


def _sums(inspector: Inspector) -> list[float]:
    """The sum of all instructions' times in each run, in seconds."""
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]
    times = [event.perf_data.raw for event in block.events if event.perf_data is not None and is_instruction(event)]
    return [sum(run) / 1e3 for run in zip(*times, strict=True)]


def _attributed(inspector: Inspector) -> tuple[float, int]:
    """Returns the share of the time that belongs to nodes with source lines, and the number of events of a run. The
    share is the smaller one of that of instructions and that of delegates' operators."""
    (block,) = [block for block in inspector.event_blocks if block.name == "Execute"]
    timed = [event for event in block.events if event.perf_data is not None]
    shares = []
    for part in ([e for e in timed if is_instruction(e)], [e for e in timed if e.is_delegated_op]):
        if part:
            total = sum(e.perf_data.p50 for e in part if e.perf_data is not None)
            lines = sum(e.perf_data.p50 for e in part if e.perf_data is not None and has_line(e))
            shares.append(lines / total)
    return min(shares), len(timed)
