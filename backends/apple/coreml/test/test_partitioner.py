# SPDX-License-Identifier: BSD-3-Clause
"""The options of the partitioner and the compile specs."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from lowering import FP16, FP32, Lowered, ct, difference, lower
from torch.export import Dim, export

from sdk.backends.apple.coreml.compiler import CoreMLBackend
from sdk.backends.apple.coreml.compiler.coreml_preprocess import MULTIMETHOD_WEIGHT_SHARING_STRATEGY
from sdk.backends.apple.coreml.container import file_at, unpack
from sdk.backends.apple.coreml.partition import CoreMLPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import get_losses


class Accumulate(torch.nn.Module):
    def __init__(self, start: float = 0.0, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((1, 4), start, dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x.to(self.total.dtype))
        return self.total * 2


class Bessel(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j0(x + 1) * 2


def _specs(**options: Any) -> dict[str, bytes]:
    return {spec.key: spec.value for spec in CoreMLBackend.generate_compile_specs(**options)}


def test_the_compile_specs() -> None:
    """CML-06, CML-07, CML-08, CML-10: the keys and bytes that the original writes."""
    assert _specs() == {
        "compute_units": b"all",
        "min_deployment_target": b"",
        "model_compute_precision": b"float16",
        "model_type": b"model",
    }
    config = {"mode": "linear_symmetric", "dtype": "int8"}
    assert _specs(
        compute_unit=ct.ComputeUnit.CPU_AND_NE,
        minimum_deployment_target=ct.target.iOS18,
        compute_precision=ct.precision.FLOAT32,
        model_type=CoreMLBackend.MODEL_TYPE.COMPILED_MODEL,
        op_linear_quantizer_config=config,
        pass_names=["common::add_fp16_cast"],
    ) == {
        "compute_units": b"cpu_and_ne",
        "min_deployment_target": b"9",
        "model_compute_precision": b"float32",
        "model_type": b"compiled_model",
        "op_linear_quantizer_config": json.dumps(config).encode(),
        "pass_pipeline": b'["common::add_fp16_cast"]',
    }


@pytest.mark.parametrize("unit", list(ct.ComputeUnit))
def test_compute_units_are_read_back(unit: Any) -> None:
    """CML-07"""
    specs = CoreMLBackend.generate_compile_specs(compute_unit=unit)
    assert CoreMLBackend.compute_unit_from_compile_specs(specs) == unit


def test_compile_specs_are_read_back() -> None:
    """CML-06: compile specs are read back, and the defaults are those of the original."""
    assert CoreMLBackend.compute_unit_from_compile_specs([]) == ct.ComputeUnit.ALL
    assert CoreMLBackend.min_deployment_target_from_compile_specs([]) is None
    assert CoreMLBackend.model_compute_precision_from_compile_specs([]) == FP16
    assert CoreMLBackend.model_type_from_compile_specs([]) == CoreMLBackend.MODEL_TYPE.MODEL
    assert CoreMLBackend.op_linear_quantizer_config_from_compile_specs([]) is None
    assert CoreMLBackend.enumerated_shapes_from_compile_specs([]) is None
    strategy = MULTIMETHOD_WEIGHT_SHARING_STRATEGY.DISABLED
    spec = CoreMLBackend.generate_multimethod_weight_sharing_strategy_compile_spec(strategy)
    assert CoreMLBackend.multimethod_weight_sharing_strategy_from_compile_specs([spec]) == strategy
    spec = CoreMLBackend.generate_minimum_deployment_target_compile_spec(ct.target.iOS17)
    assert CoreMLBackend.min_deployment_target_from_compile_specs([spec]) == ct.target.iOS17


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("compute_unit", b"all", "no compile spec 'compute_unit'"),
        ("compute_units", b"gpu", "compute unit is 'gpu'"),
        ("min_deployment_target", b"99", "deployment target is 99"),
        ("model_compute_precision", b"fp8", "compute precision is 'fp8'"),
        ("model_type", b"x", "model type is 'x'"),
        ("enumerated_shapes", b"[3]", "damaged"),
    ],
)
def test_wrong_compile_specs(key: str, value: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CoreMLPartitioner(compile_specs=[CompileSpec(key, value)])
    with pytest.raises(ValueError, match="is not a coremltools"):
        CoreMLBackend.generate_compile_specs(compute_unit="all")


def test_skipped_operators() -> None:
    """CML-04: `skip_ops_for_coreml_delegation` keeps operators outside."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
    x = torch.randn(2, 4)
    lowered = lower(model, (x,), skip_ops_for_coreml_delegation=["aten.relu.default"])
    assert lowered.outside == ["aten.relu.default"]
    assert "skip_ops" in lowered.refusals["aten_relu_default"]["CoreMLBackend"]
    assert len(lowered.delegates) == 2
    assert difference(lowered.run(x), model(x)) < 1e-5


def test_the_whole_graph_or_an_error() -> None:
    """CML-05: an operator that Core ML lacks is an error that names it and its line, or runs on the CPU."""
    with pytest.raises(ValueError, match=r"(?s)does not take 1 .*bessel_j0.*test_partitioner.py"):
        lower(Bessel(), (torch.randn(3),), lower_full_graph=True)
    lowered = lower(Bessel(), (torch.randn(3),))
    assert lowered.outside == ["aten.special_bessel_j0.default"]
    x = torch.randn(3)
    assert difference(lowered.run(x), Bessel()(x)) < 1e-5


def test_unsupported_operators_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """CML-05, CML-20: a warning names the operators that stay outside."""
    lower(Bessel(), (torch.randn(3),))
    assert "aten.special_bessel_j0.default" in caplog.text


def test_states() -> None:
    """CML-04: `take_over_mutable_buffer` makes states, which need iOS 18; otherwise buffers are inputs and outputs."""
    x = torch.ones(1, 4)
    lowered = lower(Accumulate(), (x,), FP16)
    (program,) = lowered.programs.values()
    assert list(program.function("forward").states) == ["total"]
    assert program.model.spec.specificationVersion == ct.target.iOS18.value
    assert [float(lowered.run(x)[0][0, 0]) for _ in range(3)] == [2.0, 4.0, 6.0]
    lowered = lower(Accumulate(), (x,), FP16, take_over_mutable_buffer=False)
    (program,) = lowered.programs.values()
    assert not program.function("forward").states
    assert program.model.spec.specificationVersion == ct.target.iOS16.value
    assert [float(lowered.run(x)[0][0, 0]) for _ in range(3)] == [2.0, 4.0, 6.0]


def test_states_are_float16_in_any_precision() -> None:
    """CML-04, CML-09: the receipt names float16 states at FLOAT32, too; buffers outside stay float32."""
    x = torch.ones(1, 4)

    def lost(**options: Any) -> str:
        (module,) = lower(Accumulate(), (x,), FP32, **options).delegates.values()
        return str(get_losses(module))

    assert "Core ML keeps the state total in float16 in any precision" in lost()
    assert "float16" not in lost(take_over_mutable_buffer=False)


@pytest.mark.parametrize(
    ("model", "target"),
    [(Accumulate(3.0), None), (Accumulate(0.0, torch.int32), None), (Accumulate(), ct.target.iOS17)],
    ids=["does-not-start-at-zero", "integers", "iOS17"],
)
def test_buffers_that_cannot_be_states(model: torch.nn.Module, target: Any) -> None:
    """Buffers that do not start at zero or are not floats stay outside, as do all buffers below iOS 18; they keep
    their values."""
    x = torch.ones(1, 4)
    start = float(model.total[0, 0])
    lowered = lower(model, (x,), target=target)
    (program,) = lowered.programs.values()
    assert not program.function("forward").states
    assert [float(lowered.run(x)[0][0, 0]) for _ in range(2)] == [2 * start + 2, 2 * start + 4]


def test_constants_as_inputs() -> None:
    """CML-04: without `take_over_constant_data` the weights are inputs of the delegate."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU())
    x = torch.randn(2, 4)
    lowered = lower(model, (x,), take_over_constant_data=False)
    assert difference(lowered.run(x), model(x)) < 1e-5
    (program,) = lowered.programs.values()
    assert len(program.function("forward").inputs) == 3
    assert not program.model.weights


def test_the_compute_precision() -> None:
    """CML-09: float16 by default, whatever the model's dtype is; inputs and outputs keep theirs."""
    x = torch.randn(2, 4)
    sizes = {}
    for precision in (FP32, FP16):
        lowered = lower(torch.nn.Linear(4, 64), (x,), precision)
        (program,) = lowered.programs.values()
        sizes[precision] = len(program.model.weights)
        assert program.model.spec.description.input[0].type.multiArrayType.dataType == 65568  # FLOAT32
    assert sizes[FP16] < sizes[FP32]


@pytest.mark.parametrize("target", [ct.target.iOS16, ct.target.iOS17, ct.target.iOS18])
def test_the_deployment_target(target: Any) -> None:
    """CML-08, CML-13: the model has the given deployment target."""
    lowered = lower(torch.nn.Linear(4, 4), (torch.randn(2, 4),), target=target)
    (program,) = lowered.programs.values()
    assert program.model.spec.specificationVersion == target.value


def test_compiled_models_need_macos() -> None:
    """CML-10"""
    specs = CoreMLBackend.generate_compile_specs(model_type=CoreMLBackend.MODEL_TYPE.COMPILED_MODEL)
    program = export(torch.nn.ReLU(), (torch.ones(2),))
    with pytest.raises(RuntimeError, match="macOS"):
        to_edge_transform_and_lower(program, partitioner=[CoreMLPartitioner(compile_specs=specs)])


class Two(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear1 = torch.nn.Linear(10, 5)
        self.linear2 = torch.nn.Linear(11, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.linear1(x).sum() + self.linear2(y)


SHAPES = {"x": [[1, 5, 10], [4, 6, 10]], "y": [[3, 11], [5, 11]]}


def _two() -> torch.export.ExportedProgram:
    dynamic = [{0: Dim.AUTO(min=1, max=4), 1: Dim.AUTO(min=5, max=6)}, {0: Dim.AUTO(min=3, max=5)}]
    return export(Two().eval(), (torch.randn(4, 6, 10), torch.randn(5, 11)), dynamic_shapes=dynamic)


def test_enumerated_shapes() -> None:
    """CML-12: the listed shapes run, and others are an error that lists them."""
    model = Two().eval()
    dynamic = [{0: Dim.AUTO(min=1, max=4), 1: Dim.AUTO(min=5, max=6)}, {0: Dim.AUTO(min=3, max=5)}]
    spec = CoreMLBackend.generate_enumerated_shapes_compile_spec(_two(), SHAPES)
    inputs = (torch.randn(4, 6, 10), torch.randn(5, 11))
    program = export(model, inputs, dynamic_shapes=dynamic)
    spec = CoreMLBackend.generate_enumerated_shapes_compile_spec(program, SHAPES)
    lowered = lower(model, inputs, target=ct.target.iOS18, dynamic_shapes=dynamic, specs=[spec], lower_full_graph=True)
    for x, y in zip(SHAPES["x"], SHAPES["y"], strict=True):
        given = (torch.randn(x), torch.randn(y))
        (program,) = lowered.programs.values()
        (actual,) = program.run("forward", given)
        assert torch.allclose(actual, model(*given), atol=1e-4)
    with pytest.raises(ValueError, match=r"allowed are \[\[4, 6, 10\], \[1, 5, 10\]\]|allowed are"):
        program.run("forward", (torch.randn(2, 6, 10), torch.randn(5, 11)))
    with pytest.raises(ValueError, match="lower_full_graph=True"):
        CoreMLPartitioner(compile_specs=[spec])


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({"x": SHAPES["x"]}, "no shapes are enumerated"),
        ({**SHAPES, "z": [[1]]}, "no input z"),
        ({**SHAPES, "y": [[3, 11]]}, "at least two"),
        ({**SHAPES, "y": [[3, 11], [6, 11]]}, "size 6 at axis 0"),
        ({**SHAPES, "x": [[1, 5, 9], [4, 6, 10]]}, "size 9 at axis 2"),
        ({**SHAPES, "x": [[1, 5], [4, 6, 10]]}, "rank 2"),
        ({**SHAPES, "y": [[3, 11], [5, 11], [4, 11]]}, "expected equally many"),
    ],
)
def test_wrong_enumerated_shapes(shapes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CoreMLBackend.generate_enumerated_shapes_compile_spec(_two(), shapes)


def test_dynamic_shapes_become_ranges() -> None:
    """CML-11: the ranges have the bounds of the program, and the interpreter refuses sizes beyond them."""
    n = Dim("n", min=2, max=7)
    lowered = lower(torch.nn.Linear(4, 3), (torch.randn(5, 4),), dynamic_shapes=({0: n},))
    (program,) = lowered.programs.values()
    (described,) = program.model.spec.description.input
    limits = described.type.multiArrayType.shapeRange.sizeRanges[0]
    assert (limits.lowerBound, limits.upperBound) == (2, 7)
    for rows in (2, 7):
        assert program.run("forward", [torch.randn(rows, 4)])[0].shape == (rows, 3)
    with pytest.raises(ValueError, match="allowed are 2 to 7"):
        program.run("forward", [torch.randn(8, 4)])


def test_the_files_of_a_payload() -> None:
    """metadata.json has the names in the order of the program."""
    lowered = lower(torch.nn.Linear(4, 4), (torch.randn(2, 4),))
    (module,) = lowered.delegates.values()
    _, tree = unpack(module.processed_bytes)
    metadata = json.loads(bytes(file_at(tree, "metadata.json")))
    assert metadata["inputNames"] == ["input"] and len(metadata["outputNames"]) == 1
    manifest = json.loads(bytes(file_at(tree, "model.mlpackage", "Manifest.json")))
    assert manifest["rootModelIdentifier"] in manifest["itemInfoEntries"]


def test_methods_share_weights() -> None:
    """Two methods are functions of one model, which the program stores once."""
    linear = torch.nn.Linear(64, 64).eval()
    programs = {"one": export(linear, (torch.randn(1, 64),)), "five": export(linear, (torch.randn(5, 64),))}
    specs = CoreMLBackend.generate_compile_specs(compute_precision=FP32)
    specs.append(
        CoreMLBackend.generate_multimethod_weight_sharing_strategy_compile_spec(
            MULTIMETHOD_WEIGHT_SHARING_STRATEGY.POSITIONAL
        )
    )
    manager = to_edge_transform_and_lower(
        programs, partitioner={name: [CoreMLPartitioner(compile_specs=specs)] for name in programs}
    )
    for name, rows in (("one", 1), ("five", 5)):
        lowered = Lowered(manager, name)
        x = torch.randn(rows, 64)
        assert difference(lowered.run(x), linear(x)) < 1e-5
        (module,) = lowered.delegates.values()
        assert module.processed_bytes.startswith(b"CMJR")
    buffer = manager.to_executorch().buffer
    assert len(buffer) < 1.5 * 64 * 64 * 4


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda x, a, b: torch.clamp(x, a, b), (torch.randn(5, 4), torch.ones(4), -torch.ones(4))),
        (torch.matmul, (torch.randn(10), torch.randn(5, 10, 5))),
        (lambda x: torch.nn.functional.rms_norm(x, (3,), torch.ones(3), 0.5), (torch.randn(2, 3),)),
        (lambda x: torch.nn.functional.interpolate(x, scale_factor=1.7), (torch.randn(1, 2, 4, 4),)),
        (lambda x: torch.diagonal(x) + 1, (torch.randn(5, 5),)),
        (lambda x: 1 / x + torch.reciprocal(x), (torch.randn(4, 4),)),
    ],
    ids=["clamp", "matmul", "rms_norm", "nearest", "diagonal", "reciprocal"],
)
def test_calls_that_coremltools_converts_wrongly(function: Any, inputs: tuple[torch.Tensor, ...]) -> None:
    """Each call gives eager's results, whether it is delegated or not."""

    class Call(torch.nn.Module):
        def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
            return function(*tensors)

    assert difference(lower(Call(), inputs).run(*inputs), function(*inputs)) < 1e-5
