# SPDX-License-Identifier: BSD-3-Clause
"""The delegate in C++, from a program to its outputs, over the stand-in of Core ML: compiled with clang and GNUstep,
with AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from delegate_runner import BUILD, Device
from lowering import FP16, FP32, ct
from torch.export import Dim, export

from delegate_calls import WRONG_COUNTS, with_wrong_count
from sdk.backends.apple.coreml.compiler import CoreMLBackend
from sdk.backends.apple.coreml.compiler.coreml_preprocess import MULTIMETHOD_WEIGHT_SHARING_STRATEGY
from sdk.backends.apple.coreml.partition import CoreMLPartitioner
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from sdk.exir.passes import MemoryPlanningPass

IN_PLACE = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))
"""Memory of inputs is not planned: the delegate reads the caller's memory."""


def lowered(
    methods: dict[str, tuple[torch.nn.Module, Any]],
    precision: Any = FP32,
    dynamic_shapes: Any = None,
    specs: Any = (),
    **options: Any,
) -> Any:
    """Methods with their inputs, lowered."""
    made = CoreMLBackend.generate_compile_specs(compute_precision=precision, **options)
    programs = {
        name: export(model.eval(), inputs, dynamic_shapes=dynamic_shapes) for name, (model, inputs) in methods.items()
    }
    partitioner = {name: [CoreMLPartitioner(compile_specs=[*made, *specs], lower_full_graph=True)] for name in programs}
    return to_edge_transform_and_lower(programs, partitioner=partitioner)


def device_of(model: torch.nn.Module, inputs: Any, folder: Path, *arguments: Any, **options: Any) -> Device:
    """A program with the method `forward`."""
    manager = lowered({"forward": (model, inputs)}, *arguments, **options)
    return Device(manager.to_executorch(IN_PLACE).buffer, folder)


def same(actual: list[torch.Tensor], expected: list[torch.Tensor]) -> bool:
    return len(actual) == len(expected) and all(
        a.dtype == e.dtype and torch.equal(a, e) for a, e in zip(actual, expected, strict=True)
    )


class Mixed(torch.nn.Module):
    """Inputs and outputs of every dtype that Core ML has to convert."""

    def forward(self, x: Any, index: Any, mask: Any) -> Any:
        taken = torch.where(mask, x, -x)
        return taken.sum(-1), taken.argmax(-1), taken > 0, index + 1, taken.mean()


class Accumulate(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.register_buffer("total", torch.zeros(1, 8))

    def forward(self, x: Any) -> Any:
        self.total.add_(self.linear(x).sum(0, keepdim=True))
        return self.total * 2


@pytest.mark.parametrize("padded", [False, True], ids=["dense", "padded"])
@pytest.mark.parametrize("precision", [FP32, FP16], ids=["fp32", "fp16"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["float32", "float16"])
def test_outputs(tmp_path: Path, dtype: torch.dtype, precision: Any, padded: bool) -> None:
    """CML-18: outputs equal Core ML's arrays in both dtypes, also if the rows of the arrays are padded."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3), torch.nn.ReLU())

        def forward(self, x: Any) -> Any:
            return self.layers(x.float()).to(x.dtype)

    x = torch.randn(1, 3, 9, 7, dtype=dtype)
    device = device_of(Model(), (x,), tmp_path, precision)
    (expected,) = device.record([("forward", [x])])
    (call,) = device.run_calls([("forward", [x])], **({"COREML_STAND_IN_PADDED": "1"} if padded else {}))
    assert call.error == "Ok", device.stderr
    assert same(call.outputs, expected)


def test_the_runner(tmp_path: Path) -> None:
    """UCPP-03, CML-18: Core ML's own runner loads a `.pte`, reads the input from a file and writes the output to
    one."""
    x = torch.randn(2, 4)
    device = device_of(torch.nn.Linear(4, 3), (x,), tmp_path)
    ((expected,),) = device.record([("forward", [x])])
    (tmp_path / "x").write_bytes(x.numpy().tobytes())
    runner = BUILD / "examples" / "apple" / "coreml" / "coreml_executor_runner"
    files = ["--inputs", str(tmp_path / "x"), "--output_file", str(tmp_path / "y")]
    done = device.start(runner, "--model_path", device.program, *files)
    assert "Model executed successfully" in done.stdout + done.stderr
    assert (tmp_path / "y-0.bin").read_bytes() == expected.numpy().tobytes()


def test_integers_bools_and_scalars(tmp_path: Path) -> None:
    """CML-18: int64 and bool are int32 for Core ML, and tensors of rank 0 have one element there."""
    inputs = (torch.randn(3, 4), torch.tensor([5, -7]), torch.tensor([[True, False, True, True]] * 3))
    device = device_of(Mixed(), inputs, tmp_path)
    (expected,) = device.record([("forward", inputs)])
    (call, large) = device.run_calls(
        [("forward", inputs), ("forward", (inputs[0], torch.tensor([1 << 40, 0]), inputs[2]))]
    )
    assert call.error == "Ok", device.stderr
    assert same(call.outputs, expected)
    assert large.error == "InvalidArgument"
    assert "int64 input has a value outside of int32" in device.stderr


def test_methods_share_weights_and_have_states(tmp_path: Path) -> None:
    """CML-18: two methods share one stored model, which is compiled once; each keeps its state between calls."""
    model = Accumulate()
    sharing = CoreMLBackend.generate_multimethod_weight_sharing_strategy_compile_spec(
        MULTIMETHOD_WEIGHT_SHARING_STRATEGY.POSITIONAL
    )
    methods = {"one": (model, (torch.randn(1, 8),)), "five": (model, (torch.randn(5, 8),))}
    device = Device(lowered(methods, specs=[sharing]).to_executorch().buffer, tmp_path)
    calls = [(name, methods[name][1]) for name in ("one", "one", "five", "one", "five")]
    expected = device.record(calls)
    assert not torch.equal(expected[0][0], expected[1][0])
    made = device.run_calls(calls)
    for call, wanted in zip(made, expected, strict=True):
        assert call.error == "Ok", device.stderr
        assert same(call.outputs, wanted)
    log = device.logged()
    assert log.count("compile") == 1  # the other method finds it in the cache
    assert {line for line in log if line.startswith("load")} == {"load one units 2", "load five units 2"}


def test_dynamic_shapes(tmp_path: Path) -> None:
    """CML-11, CML-18: outputs get the sizes that Core ML returns, at both ends of the range and between calls."""
    shapes = ({0: Dim("n", min=2, max=7)},)
    device = device_of(torch.nn.Linear(4, 3), (torch.randn(5, 4),), tmp_path, dynamic_shapes=shapes)
    calls = [("forward", [torch.randn(rows, 4)]) for rows in (5, 2, 7, 2)]
    expected = device.record(calls)
    made = device.run_calls([*calls, ("forward", [torch.randn(8, 4)])])
    for call, wanted in zip(made, expected, strict=False):
        assert call.error == "Ok", device.stderr
        assert same(call.outputs, wanted)
    assert made[-1].error != "Ok"


@pytest.mark.parametrize("change", WRONG_COUNTS.values(), ids=WRONG_COUNTS)
def test_a_program_with_another_number_of_arguments(change: int, tmp_path: Path) -> None:
    inputs = [torch.randn(2, 3)]
    program = lowered({"forward": (torch.nn.Tanh(), tuple(inputs))}).to_executorch(IN_PLACE).buffer
    device = Device(program, tmp_path)
    device.record([("forward", inputs)])
    wrong, message = with_wrong_count(program, change)
    device.program.write_bytes(wrong)
    (call,) = device.run_calls([("forward", inputs)])
    assert call.error == "InvalidProgram"
    assert message in device.stderr


def test_a_shape_that_is_not_enumerated(tmp_path: Path) -> None:
    """CML-12: a shape that is not listed is an error that lists the allowed shapes, which run."""

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 + 1

    dynamic = ({0: Dim.AUTO(min=1, max=4), 1: Dim.AUTO(min=5, max=6)},)
    program = export(Model(), (torch.randn(4, 6),), dynamic_shapes=dynamic)
    spec = CoreMLBackend.generate_enumerated_shapes_compile_spec(program, {"x": [[1, 5], [4, 6]]})
    target = {"minimum_deployment_target": ct.target.iOS18}
    device = device_of(Model(), (torch.randn(4, 6),), tmp_path, dynamic_shapes=dynamic, specs=[spec], **target)
    allowed = [("forward", [torch.randn(1, 5)]), ("forward", [torch.randn(4, 6)])]
    expected = device.record(allowed)
    first, wrong, second = device.run_calls([allowed[0], ("forward", [torch.randn(2, 6)]), allowed[1]])
    assert same(first.outputs, expected[0]) and same(second.outputs, expected[1])
    assert wrong.error == "InvalidArgument"
    assert "has the shape [2, 6]; the model allows [" in device.stderr
    assert "[1, 5]" in device.stderr and "[4, 6]" in device.stderr


def test_core_ml_reads_inputs_in_place(tmp_path: Path) -> None:
    """CML-18: inputs of a dtype that Core ML has are read in place, whatever their strides; int64 is converted."""

    class Model(torch.nn.Module):
        def forward(self, x: Any, index: Any) -> Any:
            return x * 3, index + 1

    x, index = torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last), torch.tensor([1, 2])
    device = device_of(Model(), (x, index), tmp_path)
    (expected,) = device.record([("forward", [x, index])])
    (call,) = device.run_calls([("forward", [x, index])])
    assert call.error == "Ok", device.stderr
    stored = call.outputs[0].reshape(1, 4, 5, 3)  # the output has the input's layout
    assert same([stored.permute(0, 3, 1, 2), call.outputs[1]], expected)
    log = {line.split()[1]: line.split() for line in device.logged() if line.startswith("input")}
    assert int(log["x"][3], 16) == call.addresses[0]
    assert log["x"][5] == "60,1,15,3"
    assert int(log["index"][3], 16) != call.addresses[1]


def test_the_compute_unit(tmp_path: Path) -> None:
    """CML-07: the option of the load takes precedence over the backend's, and that over the export's."""
    x = torch.randn(2, 4)
    unit = {"compute_unit": ct.ComputeUnit.CPU_AND_GPU}
    device = device_of(torch.nn.Linear(4, 3), (x,), tmp_path, **unit)
    device.record([("forward", [x])])
    folder = f"set cache_dir {device.cache}"
    for lines, number in (
        ([], 1),
        (["set compute_unit cpu_only"], 0),
        (["set compute_unit cpu_only", "option compute_unit cpu_and_ne"], 3),
        (["option compute_unit all"], 2),
    ):
        results = device.run([folder, *lines, "load forward"])
        assert results[-1].error == "Ok", device.stderr
        assert device.logged()[-1] == f"load main units {number}"
    wrong = device.run(["set compute_unit npu"])[0]
    assert wrong.error == "InvalidArgument"
    assert "expected cpu_only, cpu_and_gpu, cpu_and_ne or all" in device.stderr


def test_what_core_ml_says_of_a_failure(tmp_path: Path) -> None:
    """CML-18: the text of Core ML's error is in the log; an exception becomes an error, too."""
    x = torch.randn(2, 4)
    device = device_of(torch.nn.Linear(4, 3), (x,), tmp_path)
    calls = [("forward", [x])]
    for kind in ("fails", "raises"):
        device.record(calls, **{kind: "the Neural Engine is busy"})
        (call,) = device.run_calls(calls)
        assert call.error == "DelegateInvalidHandle"
        assert "the Neural Engine is busy" in device.stderr
    for file in device.records.iterdir():
        file.unlink()
    (call,) = device.run_calls(calls)
    assert call.error == "DelegateInvalidCompatibility"
    assert "Core ML cannot load the model: the stand-in has no records" in device.stderr


def test_a_call_allocates_nothing(tmp_path: Path) -> None:
    """CML-18: calls after the first allocate nothing, not even for an input that is converted."""

    class Model(torch.nn.Module):
        def forward(self, x: Any, index: Any) -> Any:
            return x * 3, index + 1

    inputs = [torch.randn(4, 5), torch.tensor([1, 2])]
    device = device_of(Model(), tuple(inputs), tmp_path)
    device.record([("forward", inputs)], inputs={})  # these outputs for any inputs
    line = " ".join(["time forward 100", *map(device.file_of, inputs)])
    (call,) = device.run([f"set cache_dir {device.cache}", line])[1:]
    assert call.error == "Ok", device.stderr
    assert call.numbers[1] == 0
