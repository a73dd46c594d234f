# SPDX-License-Identifier: BSD-3-Clause
"""The same model gives the same bytes: when it is built and lowered twice, and in a process with other hashes, other
threads, another folder and another time zone.

Addresses and the hashes of strings differ between processes, so an order that comes from a set shows here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

import zoo
from sampling import values_in_tests
from sdk.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from sdk.exir.backend.test.backend_with_named_data_map import BackendWithNDMPartitioner
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo

TESTS = Path(__file__).resolve().parents[2]
PROCESSES = (
    {"PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1", "TZ": "UTC"},
    {"PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "2", "TZ": "Asia/Tokyo", "HOME": "/nowhere", "USER": "somebody"},
)
EXTERNAL = "encode_and_decode"


def lower(name: str, **config: object) -> ExecutorchProgramManager:
    case = zoo.build(name)
    programs = {
        method: torch.export.export(m.module, m.calls[0], dynamic_shapes=m.dynamic_shapes, strict=False)
        for method, m in case.methods.items()
    }
    manager = to_edge(programs, constant_methods=case.constant_methods or None)
    return manager.to_executorch(ExecutorchBackendConfig(**config))


class Calculation(torch.nn.Module):
    """Partitions for a delegate, with other operators between them and in the branches."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(4, 4)
        self.scale = torch.nn.Parameter(torch.rand(4))

    def forward(self, x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        y = self.linear(x) * self.scale + x
        return torch.cond(p, lambda a: (a * a + 1).sin(), lambda a: (a + a).cos(), (y,)) * y


class Quantised(torch.nn.Module):
    """A model after PT2E: weights in 8 bits per channel, activations in 8 bits."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.register_buffer("weight", torch.randint(-127, 128, (6, 4), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(6))
        self.register_buffer("zeros", torch.zeros(6, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ops = torch.ops.quantized_decomposed
        x = ops.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
        x = ops.dequantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
        weight = ops.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
        y = torch.relu(torch.nn.functional.linear(x, weight))
        y = ops.quantize_per_tensor(y, 0.2, -5, -128, 127, torch.int8)
        return ops.dequantize_per_tensor(y, 0.2, -5, -128, 127, torch.int8)


def lower_calculation(partitioner: object) -> ExecutorchProgramManager:
    exported = torch.export.export(Calculation().eval(), (torch.ones(2, 4), torch.tensor(True)))
    return to_edge_transform_and_lower(exported, partitioner=[partitioner]).to_executorch()


def lower_quantised() -> ExecutorchProgramManager:
    import sdk.exir.passes._quant_patterns_and_replacements  # noqa: F401  (registers the operators)

    return to_edge(torch.export.export(Quantised(), (torch.ones(2, 4),))).to_executorch()


PROGRAMS: dict[str, Callable[[], ExecutorchProgramManager]] = {
    **{name: partial(lower, name) for name in zoo.CASES},
    "delegated_parts": lambda: lower_calculation(AddMulPartitionerDemo()),
    "delegated_with_named_data": lambda: lower_calculation(BackendWithNDMPartitioner()),
    "quantised": lower_quantised,
}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def print_digests(names: list[str]) -> None:
    for name in names:
        first, second = (PROGRAMS[name]().buffer for _ in range(2))
        # No path of the machine is in a file.
        assert not any(place.encode() in first for place in (str(TESTS), sys.prefix, torch.__path__[0])), name
        print(name, digest(first), digest(second))
    manager = lower(EXTERNAL, external_constants=lambda node: "biases" if "bias" in node.name else "weights")
    for tag, data in manager._tensor_data.items():
        print(f"{tag}.ptd", digest(bytes(data)), digest(bytes(data)))


@pytest.fixture(scope="module")
def digests(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Returns for each file the set of digests that it had in all processes and repetitions. Only the programs of the
    selected tests are made."""
    found: dict[str, set[str]] = {}
    wanted = values_in_tests(request, "name")
    for settings in PROCESSES:
        environment = {**os.environ, **settings, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
        command = [sys.executable, "-W", "ignore", __file__, *(name for name in PROGRAMS if name in wanted)]
        folder = tmp_path_factory.mktemp("elsewhere")
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
        assert done.returncode == 0, done.stderr[-3000:]
        for line in done.stdout.splitlines():
            name, *seen = line.split()
            found.setdefault(name, set()).update(seen)
    return found


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.sampled) for name in PROGRAMS), "weights.ptd", "biases.ptd"]
)
def test_same_model_same_bytes(name: str, digests: dict[str, set[str]]) -> None:
    assert len(digests[name]) == 1


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print_digests(sys.argv[1:])
