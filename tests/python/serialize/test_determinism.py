# SPDX-License-Identifier: BSD-3-Clause
"""The same model gives the same bytes: when it is built and lowered twice, and in a process that hashes otherwise.

Addresses and the hashes of strings differ between processes, so an order that comes from a set shows here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

import zoo
from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge

TESTS = Path(__file__).resolve().parents[2]
HASH_SEEDS = ("1", "77")
EXTERNAL = "encode_and_decode"


def lower(name: str, **config: object) -> ExecutorchProgramManager:
    case = zoo.build(name)
    programs = {
        method: torch.export.export(m.module, m.calls[0], dynamic_shapes=m.dynamic_shapes, strict=False)
        for method, m in case.methods.items()
    }
    manager = to_edge(programs, constant_methods=case.constant_methods or None)
    return manager.to_executorch(ExecutorchBackendConfig(**config))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def print_digests() -> None:
    for name in zoo.CASES:
        first, second = (digest(lower(name).buffer) for _ in range(2))
        print(name, first, second)
    manager = lower(EXTERNAL, external_constants=lambda node: "biases" if "bias" in node.name else "weights")
    for tag, data in manager._tensor_data.items():
        print(f"{tag}.ptd", digest(bytes(data)), digest(bytes(data)))


@pytest.fixture(scope="module")
def digests() -> dict[str, set[str]]:
    """File -> the digests that it had, over processes and repetitions."""
    found: dict[str, set[str]] = {}
    for seed in HASH_SEEDS:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
        command = [sys.executable, "-W", "ignore", __file__]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr[-3000:]
        for line in done.stdout.splitlines():
            name, *seen = line.split()
            found.setdefault(name, set()).update(seen)
    return found


@pytest.mark.parametrize("name", [*zoo.CASES, "weights.ptd", "biases.ptd"])
def test_same_model_same_bytes(name: str, digests: dict[str, set[str]]) -> None:
    assert len(digests[name]) == 1


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print_digests()
