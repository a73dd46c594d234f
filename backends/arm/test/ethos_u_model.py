# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs for an Ethos-U with the model of the NPU (backends/arm/ethosu/model)."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from arm_lowering import Lowered, lower
from arm_programs import ROOT, sanitized_program
from torch import nn
from torch.export import export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.arm.ethosu import EthosUCompileSpec
from sdk.backends.arm.ethosu.stream import VelaStream
from sdk.backends.arm.ethosu.vela import compile_graph
from sdk.backends.arm.quantizer import (
    EthosUQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from sdk.backends.arm.quantizer.arm_quantizer import get_symmetric_a8w4_quantization_config
from sdk.backends.arm.tosa import reference
from sdk.exir.lowered_backend_module import get_lowered_submodules

MODEL = ROOT / "backends/arm/ethosu/model"
FAST_SIZE = 384 * 1024  # of the memory mode Dedicated_Sram_384KB
_OPTIMIZED = ("-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def program() -> Path:
    return sanitized_program("run_ethos_u.cpp", MODEL, sorted(MODEL.glob("*.cpp")), _OPTIMIZED)


@dataclass
class Run:
    """The results of the model.

    Attributes:
        outputs: The bytes of each output.
        commands: The commands that ran, by kind.
    """

    outputs: list[bytes]
    commands: Counter[str]


def write_stream(stream: VelaStream, folder: Path) -> list[str]:
    """Writes the files of `run_ethos_u`; returns its arguments."""
    for name, data in (("commands", stream.commands), ("weights", stream.weights)):
        (folder / name).write_bytes(data)
    return [str(folder / "commands"), str(folder / "weights"), str(stream.scratch_size), str(FAST_SIZE)]


def run_stream(stream: VelaStream, inputs: Sequence[np.ndarray]) -> Run:
    """Raises RuntimeError with the model's message."""
    scratch = bytearray(stream.scratch_size)
    for edge, array in zip(stream.inputs, inputs, strict=True):
        data = np.ascontiguousarray(array).tobytes()
        assert (edge.region, len(data)) == (1, int(np.prod(edge.shape)) * edge.element_size)
        scratch[edge.offset : edge.offset + len(data)] = data
    with tempfile.TemporaryDirectory() as folder:
        command = [program(), *write_stream(stream, Path(folder))]
        done = subprocess.run(command, input=bytes(scratch), capture_output=True, check=False)
    lines = done.stderr.decode().splitlines()
    if done.returncode:
        raise RuntimeError("\n".join(lines[-20:]))
    sizes = (int(np.prod(edge.shape)) * edge.element_size for edge in stream.outputs)
    slices = (done.stdout[edge.offset : edge.offset + size] for edge, size in zip(stream.outputs, sizes, strict=True))
    return Run(list(slices), Counter(lines))


CONFIGURATIONS = {
    8: get_symmetric_quantization_config,
    16: get_symmetric_a16w8_quantization_config,
    4: functools.partial(get_symmetric_a8w4_quantization_config, is_qat=False),
}


def quantized(model: nn.Module, inputs: tuple[Any, ...], spec: EthosUCompileSpec, bits: int = 8) -> nn.Module:
    """The model with activations of 8 or 16 bits, or with those of 8 and weights of 4, calibrated with `inputs`."""
    configuration = CONFIGURATIONS[bits]()
    prepared = prepare_pt2e(export(model.eval(), inputs).module(), EthosUQuantizer(spec).set_global(configuration))
    prepared(*inputs)
    return convert_pt2e(prepared)


def compiled(model: nn.Module, inputs: tuple[Any, ...], spec: EthosUCompileSpec, bits: int = 8) -> Lowered:
    """The quantised model, lowered to TOSA for the NPU."""
    return lower(quantized(model, inputs, spec, bits), inputs, str(spec.tosa_spec))


def values(shape: Sequence[int], dtype: torch.dtype, seed: int) -> np.ndarray:
    """Random integers; with the seed 0, only the least and the largest one."""
    limits = torch.iinfo(dtype)
    random = np.random.default_rng(seed)
    drawn = random.integers(limits.min, limits.max + 1, size=tuple(shape))
    extremes = random.choice([limits.min, limits.max], size=tuple(shape))
    return (extremes if seed == 0 else drawn).astype(str(dtype).removeprefix("torch."))


def assert_equals_reference(lowered: Lowered, spec: EthosUCompileSpec, seeds: Sequence[int] = range(5)) -> Counter[str]:
    """Asserts that each delegate's results equal those of the TOSA reference model bit by bit. Returns the commands
    that ran."""
    commands: Counter[str] = Counter()
    for case in cases_of(lowered, seeds):
        commands += case.run(spec)
    return commands


@dataclass
class Case:
    """A TOSA file, inputs, and what the TOSA reference model computes from them."""

    graph: bytes
    inputs: list[list[np.ndarray]]
    expected: list[list[np.ndarray]]

    def run(self, spec: EthosUCompileSpec) -> Counter[str]:
        """Compares every bit that the model of the NPU computes. Returns the commands that ran once."""
        commands: Counter[str] = Counter()
        stream = compile_graph(self.graph, spec.compiler_flags).stream
        for inputs, expected in zip(self.inputs, self.expected, strict=True):
            found = run_stream(stream, inputs)
            for ours, wanted in zip(found.outputs, expected, strict=True):
                np.testing.assert_array_equal(np.frombuffer(ours, wanted.dtype).reshape(wanted.shape), wanted)
            commands = found.commands
        return commands


def cases_of(lowered: Lowered, seeds: Sequence[int]) -> list[Case]:
    """A case for each delegate."""
    modules = [module for _, module, _ in get_lowered_submodules(lowered.program.graph_module)]
    assert modules, "nothing was delegated"
    cases = []
    for module in modules:
        given = set(module.original_module.graph_signature.user_inputs)
        arguments = [node.meta["val"] for node in module.original_module.graph.nodes if node.name in given]
        inputs = [[values(each.shape, each.dtype, seed) for each in arguments] for seed in seeds]
        results = reference.run_each(module.processed_bytes, inputs)
        expected = [[np.asarray(each) for each in arrays] for arrays in results]
        cases.append(Case(module.processed_bytes, inputs, expected))
    return cases
