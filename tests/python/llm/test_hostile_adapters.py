# SPDX-License-Identifier: BSD-3-Clause
"""LoRA adapters that are changed by somebody: each becomes a file, or is refused by the documented exception."""

from __future__ import annotations

import collections
import random
from pathlib import Path

import pytest
from adapter_mutations import PICKLE, SAFETENSORS, hostile_file, joined, read, whole


@pytest.mark.parametrize("weights_file", [SAFETENSORS, PICKLE])
def test_the_adapters_that_are_changed_are_whole(weights_file: str, tmp_path: Path) -> None:
    path = tmp_path / "adapter"
    path.write_bytes(joined(whole(weights_file)))
    assert read(path) == "written"


def test_hostile_adapters_are_read_or_refused(tmp_path: Path) -> None:
    """`tests/fuzz/fuzz_adapters.py` does the same for longer."""
    path, found = tmp_path / "adapter", collections.Counter[str]()
    for seed in range(300):
        path.write_bytes(hostile_file(random.Random(seed)))
        found[read(path)] += 1
    assert found["written"] > 30 and found["refused"] > 100, "the changes are of both kinds"
