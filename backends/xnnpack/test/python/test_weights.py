# SPDX-License-Identifier: BSD-3-Clause
"""Packed weights that delegates share, and damaged payloads."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from test_quantized import quantize
from torch import nn
from torch.export import export
from torch.fx import GraphModule
from torchao.quantization.utils import compute_error

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.runtime import Runtime
from zoo.language import Encoder

IMAGE = (torch.linspace(-3, 3, 4 * 8 * 8).reshape(1, 4, 8, 8).sin(),)


def lower(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> bytes:
    program = export(model if isinstance(model, GraphModule) else model.eval(), inputs)
    return bytes(to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)


class Head(nn.Module):
    """A separate head on a net that other models share."""

    def __init__(self, body: nn.Module, outputs: int) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(6, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x).mean((2, 3)))


def test_programs_with_the_same_weights_compute_the_same() -> None:
    """Loads the same program twice, another one with some of its weights, and one with the same values in another
    packing."""
    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 6, 3, padding=1), nn.ReLU())
    grouped, whole = nn.Conv2d(4, 4, 3, groups=4, bias=False), nn.Conv2d(1, 4, 3, bias=False)
    whole.weight = grouped.weight
    models = [Head(body, 3), Head(body, 5), nn.Sequential(nn.Conv2d(4, 1, 1), whole), nn.Sequential(grouped)]
    models.insert(1, models[0])
    methods = [Runtime.get().load_program(lower(m, IMAGE)).load_method("forward") for m in models]
    for _ in range(2):
        for model, method in zip(models, methods, strict=True):
            torch.testing.assert_close(torch.as_tensor(method.execute(IMAGE)[0]), model(*IMAGE), rtol=1e-5, atol=1e-5)
        del methods[0], models[0]  # the other methods keep the weights that they use


def test_the_receipt_says_that_quantised_weights_become_floats() -> None:
    """If only weights are quantised, they are stored as floats, which take four times as many bytes. If activations
    are quantised, too, and in static int8, weights stay integers."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerGroup

    row = (torch.randn(1, 128),)

    def notes(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> list[str]:
        program = to_edge_transform_and_lower(export(model, inputs), partitioner=[XnnpackPartitioner()])
        return [note for note in program.to_executorch().get_receipt().notes if "stored as floats" in note]

    def layers() -> nn.Module:
        return nn.Sequential(nn.Linear(128, 256), nn.Linear(256, 128)).eval()

    assert notes(layers(), row) == []
    for dtype in (torch.int8, torch.int4):
        quantize_(alone := layers(), IntxWeightOnlyConfig(weight_dtype=dtype, granularity=PerGroup(32)))
        (note,) = notes(alone, row)
        assert f"2 quantised weights are stored as floats, {2 * 128 * 256 * 4} bytes instead of {2 * 128 * 256}" in note
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))
    quantize_(both := layers(), config)
    assert notes(both, row) == []
    assert notes(quantize(nn.Conv2d(4, 6, 3).eval(), IMAGE), IMAGE) == []


def test_damaged_payloads_are_refused_or_run() -> None:
    """A damaged payload never makes the runtime access memory outside of it."""
    torch.manual_seed(0)
    mask = torch.ones(2, 10, dtype=torch.long)
    inputs = (torch.randint(0, 64, (2, 10)), mask)
    program = lower(Encoder(depth=1), inputs)
    start = program.index(b"XH00") - 4
    size = int.from_bytes(program[start + 14 : start + 18], "little") + 32
    numbers = random.Random(1)
    refused = 0
    for _ in range(80):
        damaged = bytearray(program)
        for _ in range(numbers.randint(1, 4)):
            damaged[start + numbers.randrange(size)] = numbers.choice([0, 1, 2, 4, 8, 0x7F, 0x80, 0xFF])
        try:
            Runtime.get().load_program(bytes(damaged)).load_method("forward").execute(inputs)
        except RuntimeError:
            refused += 1
    assert refused > 0
    with pytest.raises(RuntimeError, match="XNS1"):
        other = program[: start + 36] + b"XNS9" + program[start + 40 :]
        Runtime.get().load_program(other).load_method("forward")


OWN = """if True:
    import sys
    from pathlib import Path
    from sdk.runtime import Runtime
    def own() -> int:
        (line,) = [x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("RssAnon")]
        return int(line.split()[1]) * 1024
    runtime, before = Runtime.get(), own()
    methods = [runtime.load_program(sys.argv[1]).load_method("forward") for _ in range(int(sys.argv[2]))]
    print(own() - before)
"""


def memory_of_methods(program: bytes, folder: Path, count: int = 1) -> int:
    """The bytes of private memory that loading methods adds, measured in a process that does nothing else."""
    (folder / "model.pte").write_bytes(program)
    command = [sys.executable, "-c", OWN, str(folder / "model.pte"), str(count)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_loaded_method_holds_its_weights_once(tmp_path: Path) -> None:
    """XNN-15: a loaded method holds packed weights, but not those of the file."""
    layer = nn.Linear(2048, 2048)
    weights = layer.weight.numel() * layer.weight.element_size()
    assert 0.9 * weights < memory_of_methods(lower(layer, (torch.ones(1, 2048),)), tmp_path) < 1.4 * weights


class Repeated(nn.Module):
    """Uses the same weights in each step, like a recurrent layer."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer = nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(8):
            x = torch.tanh(self.layer(x))
        return x


def test_steps_share_weights_that_meet_what_is_quantised_when_it_runs(tmp_path: Path) -> None:
    inputs = (torch.ones(1, 1024),)
    program = lower(quantize(Repeated(1024), inputs, is_per_channel=True, is_dynamic=True), inputs)
    assert 2**20 < memory_of_methods(program, tmp_path) < 3 * 2**20


def test_programs_share_weights_of_integers(tmp_path: Path) -> None:
    inputs = (torch.randn(1, 2048),)
    program = lower(quantize(nn.Linear(2048, 2048), inputs, is_per_channel=True), inputs)
    assert 2**22 < memory_of_methods(program, tmp_path, 3) < 1.7 * 2**22


@pytest.mark.parametrize("is_per_channel", [True, False])
@pytest.mark.parametrize("is_dynamic", [True, False])
def test_the_same_integers_with_other_scales_are_other_weights(is_per_channel: bool, is_dynamic: bool) -> None:
    torch.manual_seed(0)
    first, second = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
    second.weight = nn.Parameter(4 * first.weight)
    inputs = (torch.randn(3, 16),)
    methods = []
    for model in (nn.Sequential(first, second), nn.Sequential(second, first), first, second):
        quantized = quantize(model, inputs, is_per_channel=is_per_channel, is_dynamic=is_dynamic)
        methods.append(Runtime.get().load_program(lower(quantized, inputs)).load_method("forward"))
        assert compute_error(model(*inputs), torch.as_tensor(methods[-1].execute(inputs)[0])) > 30


@pytest.mark.parametrize("is_dynamic", [True, False])
def test_layers_that_differ_in_their_biases_alone_are_other_weights(is_dynamic: bool) -> None:
    torch.manual_seed(0)
    first, second = nn.Linear(64, 64), nn.Linear(64, 64)
    second.weight = first.weight
    second.bias = nn.Parameter(first.bias + 10)
    inputs = (torch.randn(3, 64),)
    for model in (nn.Sequential(first, second, first), nn.Sequential(second, first)):
        quantized = quantize(model, inputs, is_per_channel=True, is_dynamic=is_dynamic)
        method = Runtime.get().load_program(lower(quantized, inputs)).load_method("forward")
        assert compute_error(model(*inputs), torch.as_tensor(method.execute(inputs)[0])) > 30


def test_the_same_integers_that_meet_others_are_other_weights() -> None:
    """Layers with the same int8 weights and scales do not share packed weights if their inputs or results have other
    scales."""
    torch.manual_seed(0)
    convolution, linear = nn.Conv2d(4, 4, 3, padding=1), nn.Linear(8, 8)
    nn.init.constant_(convolution.bias, 0.5)
    nn.init.constant_(linear.bias, 0.5)
    methods = []
    for shift, scale in ((0, 1), (2, 1), (0, 3), (-2, 3)):
        inputs = (scale * IMAGE[0] + shift,)
        for model in (convolution, linear, nn.Sequential(convolution, linear)):
            quantized = quantize(model, inputs, is_per_channel=True)
            methods.append(Runtime.get().load_program(lower(quantized, inputs)).load_method("forward"))
            assert compute_error(model(*inputs), torch.as_tensor(methods[-1].execute(inputs)[0])) > 30


def test_the_same_integers_that_meet_other_zero_points_are_other_weights() -> None:
    """Inputs and their negatives have the same scale, because the test rounds scales up."""
    torch.manual_seed(0)
    methods = []
    for layer in (nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.Linear(8, 8, bias=False)):
        for sign in (1, -1):
            inputs = (sign * (3 * IMAGE[0].abs() + 2),)
            quantized = quantize(layer, inputs, is_per_channel=True)
            for node in quantized.graph.nodes:
                if "per_tensor" in str(node.target):
                    node.args = (node.args[0], math.ceil(100 * node.args[1]) / 100, *node.args[2:])
            quantized.recompile()
            methods.append(Runtime.get().load_program(lower(quantized, inputs)).load_method("forward"))
            assert compute_error(layer(*inputs), torch.as_tensor(methods[-1].execute(inputs)[0])) > 30
