# SPDX-License-Identifier: BSD-3-Clause
"""The speed of models relative to the speed of a GEMM on this machine.

The peak is a linear layer of 1024 by 1024 on 1024 rows, on one thread, through the same backend. The operations of a
model are those that PyTorch counts (`FlopCounterMode`): two for each multiply-add of convolutions, matrix
multiplications and attention, none for anything else. A model with only such operations, in shapes as efficient
as that layer's, reaches a share of 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.harness import Engine
from bench.peer_table import PeerTable
from bench.worker import load_model

PEAK = "bench:peak_product"
HEAD = "| model | GFLOP | ms | GFLOP/s | share of the peak |\n|---|---|---|---|---|"


def operations(spec: str) -> int:
    """The number of operations of one call of a model."""
    module, inputs = load_model(spec)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(*inputs)
    return counter.get_total_flops()


def measure(table: PeerTable, rounds: int, seconds: float) -> Iterator[str]:
    """A row for each model whose program `table` has written. The peak is measured again in each turn, so that both
    figures of a share are from the same seconds.
    """
    import numpy as np

    table.models = {**table.models, "peak": PEAK}
    table.write_programs(["float32"])
    peak_operations = operations(PEAK)
    yield HEAD
    for model, spec in table.models.items():
        if model == "peak" or not table.program(table.ours, model).exists():
            continue
        workers: list[Engine] = []
        for name, source in ((model, spec), ("peak", PEAK)):
            inputs = table.directory / "inputs.npz"
            np.savez(inputs, *[tensor.numpy() for tensor in load_model(source)[1]])
            worker = table.start(table.ours, 1, writes=False)
            worker.ask("load", path=str(table.program(table.ours, name)), inputs=str(inputs))
            workers.append(worker)
        turns = [[worker.ask("run", seconds=seconds)["cpu"] for worker in workers] for _ in range(rounds)]
        for worker in workers:
            worker.close()
        gigas = operations(spec) / 1e9
        own, peak = (median(turn[i] for turn in turns) for i in (0, 1))
        share = median(gigas / a / (peak_operations / 1e9 / b) for a, b in turns)
        yield f"| {model} | {gigas:.3g} | {own * 1e3:.3g} | {gigas / own:.3g} | {share:.2f} |"
        table.progress(f"the peak beside {model}: {peak_operations / 1e9 / peak:.0f} GFLOP/s")
