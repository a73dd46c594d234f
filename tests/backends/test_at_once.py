# SPDX-License-Identifier: BSD-3-Clause
"""Four programs on four threads at once, with and without delegates, on pools of 1, 2, 3 and 8 threads."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from backends.conformance import HANG_SECONDS, THREADS, _threads
from backends.targets import targets
from sdk.extension.pybindings import portable_lib

FOLDER = Path(__file__).resolve().parents[1] / "data" / "at_once"
HEIGHTS = (64, 40, 33, 17)
"""Heights of the images whose results are in results.bin: see tests/data/make_at_once.py."""
ROUNDS = 2

KERNELS, DELEGATES = "portable.pte", "xnnpack.pte"
MIXES = {"kernels": (KERNELS,) * 4, "delegates": (DELEGATES,) * 4, "both": (KERNELS, DELEGATES) * 2}


def image(height: int) -> torch.Tensor:
    return (((7 * torch.arange(3 * height * 64)) % 13 - 6).float() / 4).reshape(1, 3, height, 64)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("mix", MIXES)
def test_programs_at_once(mix: str, threads: int) -> None:
    if DELEGATES in MIXES[mix] and "xnnpack" not in {target.name for target in targets()}:
        pytest.skip("the runtime under test has the portable kernels alone")
    expected = torch.from_numpy(np.fromfile(FOLDER / "results.bin", dtype=np.float32)).reshape(len(HEIGHTS), -1)
    right: list[bool] = []

    def work(number: int, name: str) -> None:
        program = portable_lib._load_for_executorch_from_buffer((FOLDER / name).read_bytes())
        for call in range(ROUNDS * len(HEIGHTS)):
            which = (number + call) % len(HEIGHTS)
            found = program.forward([image(HEIGHTS[which])])[0]
            right.append(torch.allclose(found, expected[which : which + 1], rtol=0, atol=1e-5))

    with _threads(threads):
        workers = [threading.Thread(target=work, args=one, daemon=True) for one in enumerate(MIXES[mix])]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(HANG_SECONDS)
            assert not worker.is_alive(), f"{mix} on {threads} threads do not end"
    assert right == [True] * (len(MIXES[mix]) * ROUNDS * len(HEIGHTS))
