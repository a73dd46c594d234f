# SPDX-License-Identifier: BSD-3-Clause
"""A loaded program uses the number of threads that is set when it runs."""

from __future__ import annotations

import torch
from torch import nn

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.pybindings import portable_lib


def test_threads_change_between_runs() -> None:
    """XNN-21"""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 8, 1), nn.Flatten(), nn.Linear(8 * 1024, 5)
    )
    x = torch.randn(1, 3, 32, 32)
    exported = torch.export.export(model.eval(), (x,))
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    before = portable_lib._threadpool_get_thread_count()
    loaded = portable_lib._load_for_executorch_from_buffer(program.buffer)
    try:
        with torch.no_grad():
            for threads in (1, 3, 2, 7, 1):
                portable_lib._unsafe_reset_threadpool(threads)
                y = torch.randn_like(x)
                torch.testing.assert_close(loaded.forward([y])[0], model(y), rtol=1e-4, atol=1e-4)
    finally:
        portable_lib._unsafe_reset_threadpool(before)
