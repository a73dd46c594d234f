# SPDX-License-Identifier: BSD-3-Clause
"""Compares int8 with float32 on models of libraries: time, and accuracy, also with the quantised model in eager mode.

Both programs are of this SDK, on the same backend. The model is quantised and calibrated once. The model that
`convert_pt2e` gives is computed in eager and exported, so that a difference between the two signal-to-noise ratios is
the compiler's or the kernels'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.comparison import Series, geometric_mean, signal_to_noise
from bench.engines import PRECISIONS
from bench.harness import EngineError
from bench.peer_page import readable
from bench.peer_table import PeerTable
from bench.worker import load_model

MOST_LOSS = 0.5
"""Decibels by which the signal-to-noise ratio may be below eager's. Both round, but not after the same sums."""
HEAD = "| model | float32, ms | int8, ms | int8 / float32 | eager int8, dB | sdk int8, dB |\n|---|---|---|---|---|---|"


def measure(table: PeerTable, threads: int, rounds: int, seconds: float) -> Iterator[str]:
    """A row for each model with convolutions, then a summary. Programs that are missing are written first."""
    ratios, slower, noisier, failures = [], [], [], []
    yield HEAD
    for model, spec in table.models.items():
        module, inputs = load_model(spec)
        if not any(isinstance(part, torch.nn.Conv2d | torch.nn.Conv3d) for part in module.modules()):
            continue
        with torch.no_grad():
            right = _first(module(*inputs))
        del module
        try:
            reference = np.load(_write_quantized(table, model, spec))
            times, found = _run(table, model, inputs, right, threads, rounds, seconds)
        except EngineError as error:
            failures.append(f"{model}: {readable(error.reason)}")
            continue
        ratio = times["int8"].lower_quartile / times["float32"].lower_quartile
        eager = signal_to_noise(right, reference)
        ratios.append(ratio)
        if ratio > 1:
            slower.append(f"{model} {ratio:.2f}")
        if found < eager - MOST_LOSS:
            noisier.append(f"{model} {found - eager:.1f} dB")
        cells = (f"{series.lower_quartile * 1e3:.3g} ±{series.spread:.0%}" for series in times.values())
        yield f"| {model} | {' | '.join(cells)} | {ratio:.2f} | {eager:.1f} | {found:.1f} |"
    yield ""
    if ratios:
        yield f"Geometric mean of int8 / float32: **{geometric_mean(ratios):.2f}** over {len(ratios)} models."
    yield f"Slower in int8: {', '.join(slower) or 'none'}. Noisier than eager: {', '.join(noisier) or 'none'}."
    yield from (["", "Not measured:", "", *(f"- {each}" for each in failures)] if failures else [])


def _first(result: Any) -> np.ndarray[Any, Any]:
    tensor = result[0] if isinstance(result, tuple) else result
    return np.asarray(tensor.numpy())


def _write_quantized(table: PeerTable, model: str, spec: str) -> Path:
    """Writes missing programs. Returns the file with the quantised model's results in eager."""
    reference = table.program(table.ours + PRECISIONS["int8"], model).with_suffix(".eager.npy")
    for precision, suffix in PRECISIONS.items():
        path = table.program(table.ours + suffix, model)
        result = reference if precision == "int8" else None
        if path.exists() and (result is None or result.exists()):
            continue
        table.progress(f"write {model} in {precision}")
        worker = table.start(table.ours + suffix, 1, writes=True)
        try:
            worker.ask("program", model=spec, output=str(path), eager=str(result or ""))
        finally:
            worker.close()
    return reference


def _run(
    table: PeerTable,
    model: str,
    inputs: Iterable[torch.Tensor],
    right: np.ndarray[Any, Any],
    threads: int,
    rounds: int,
    seconds: float,
) -> tuple[dict[str, Series], float]:
    """Seconds of a call by precision, in turns, and the decibels of the int8 result."""
    table.progress(f"run {model}")
    arrays, expected = table.directory / "inputs.npz", table.directory / "expected.npy"
    np.savez(arrays, *[tensor.numpy() for tensor in inputs])
    np.save(expected, right)
    workers = {name: table.start(table.ours + suffix, threads, writes=False) for name, suffix in PRECISIONS.items()}
    times = {name: Series() for name in workers}
    try:
        for name, worker in workers.items():
            worker.ask("load", path=str(table.program(table.ours + PRECISIONS[name], model)), inputs=str(arrays))
        decibels = float(workers["int8"].ask("check", expected=str(expected))["decibels"])
        clock = "cpu" if threads == 1 else "wall"
        for _ in range(rounds):
            for name, worker in workers.items():
                times[name].samples.append(worker.ask("run", seconds=seconds)[clock])
    finally:
        for worker in workers.values():
            worker.close()
    return times, decibels
