# SPDX-License-Identifier: BSD-3-Clause
"""EXP-16: `sdk.export.export`, sessions, stages, and the pipelines that are refused."""

from __future__ import annotations

import importlib
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import sdk.export
from declared import quantizer
from sdk.exir import ExecutorchBackendConfig
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.export import (
    AOQuantizationConfig,
    ExampleInputs,
    ExportRecipe,
    ExportSession,
    LoweringRecipe,
    QuantizationRecipe,
    StageType,
    export,
)
from sdk.export.stages import PipelineArtifact, Stage
from sdk.runtime import Runtime

T = StageType


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.two(torch.relu(self.one(x)))


class AddMul(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.mm(torch.sin(x + y), y)


X = torch.linspace(-1, 1, 16).reshape(2, 8)
S = torch.linspace(-1, 1, 9).reshape(3, 3)


def test_exp_16_the_package_is_callable_and_holds_the_names() -> None:
    """EXP-16: the documents call `executorch.export(...)` and import from `executorch.export`."""
    session = sdk.export(model=Net(), example_inputs=[(X,)], export_recipe=ExportRecipe())
    assert isinstance(session, ExportSession)
    assert sdk.export.export is export and callable(sdk.export.recipe_registry.list_backends)
    # Importing the submodules of the same names changes neither.
    importlib.import_module("sdk.export.export")
    importlib.import_module("sdk.export.recipe_registry")

    assert sdk.export.export is export and not hasattr(sdk.export.recipe_registry, "__path__")
    with pytest.raises(AttributeError, match="no attribute 'exprot'"):
        _ = sdk.export.exprot


def test_exp_16_importing_the_package_imports_no_torch() -> None:
    program = (
        "import sys, sdk.export\n"
        "from sdk.export import ExportRecipe, LoweringRecipe, StageType, recipe_registry\n"
        "assert 'torch' not in sys.modules and 'torchao' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_exp_16_a_session_has_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Net()
    session = export(model, [(X,)], ExportRecipe(name="plain"))
    assert list(session.get_stage_artifacts()) == [
        T.SOURCE_TRANSFORM,
        T.QUANTIZE,
        T.TORCH_EXPORT,
        T.TO_EDGE_TRANSFORM_AND_LOWER,
        T.TO_EXECUTORCH,
    ]
    torch.testing.assert_close(session.get_exported_program().module()(X), model(X))
    assert session.get_edge_program_manager().methods == {"forward"}
    torch.testing.assert_close(session.run_method()[0], model(X))
    torch.testing.assert_close(session.run_method("forward", (2 * X,))[0], model(2 * X))
    assert session.get_pte_buffer() == session.get_executorch_program_manager().buffer
    assert session.get_executorch_program().execution_plan[0].name == "forward"
    monkeypatch.chdir(tmp_path)
    session.save_to_pte("one")
    session.save_to_pte("two.pte")
    assert Path("one.pte").read_bytes() == Path("two.pte").read_bytes() == session.get_pte_buffer()
    with pytest.raises(RuntimeError, match="generate_etrecord=True"):
        session.get_etrecord()


def test_exp_16_the_recipe_is_optional_and_does_what_the_stages_do_by_hand() -> None:
    from sdk.exir import to_edge_transform_and_lower

    by_hand = to_edge_transform_and_lower(torch.export.export(Net(), (X,), strict=True)).to_executorch()
    assert export(Net(), [(X,)]).get_pte_buffer() == by_hand.buffer


def test_exp_16_several_methods_and_constants() -> None:
    models = {"encode": Net(), "decode": AddMul()}
    session = export(
        models,
        {"encode": [(X,)], "decode": [{"x": S, "y": 2 * S}]},
        constant_methods={"size": 8, "limit": lambda: 512},
    )
    program = Runtime.get().load_program(session.get_pte_buffer())
    assert program.method_names == {"encode", "decode", "size", "limit"}
    assert program.load_method("limit").execute([])[0] == 512
    torch.testing.assert_close(session.run_method("encode")[0], models["encode"](X))
    torch.testing.assert_close(session.run_method("decode")[0], models["decode"](S, 2 * S))
    assert session.get_exported_program("decode") is not session.get_exported_program("encode")
    with pytest.raises(KeyError, match="Method name 'forward' not found; there is encode, decode"):
        session.get_exported_program()


def test_exp_06_dynamic_shapes() -> None:
    batch = torch.export.Dim("batch", min=1, max=16)
    for shapes in ({"x": {0: batch}}, {"forward": {"x": {0: batch}}}, ({0: batch},)):
        session = export(Net(), [(X,)], dynamic_shapes=shapes)
        for size in (1, 16):
            assert session.run_method("forward", (torch.ones(size, 8),))[0].shape == (size, 4)


def test_positional_and_keyword_inputs_together() -> None:
    session = export(AddMul(), [ExampleInputs((S,), {"y": 2 * S})])
    torch.testing.assert_close(session.run_method()[0], AddMul()(S, 2 * S))


def test_a_graph_module_an_exported_program_and_a_file(tmp_path: Path) -> None:
    captured = torch.export.export(Net(), (X,))
    path = tmp_path / "net.pt2"
    torch.export.save(captured, path)
    for model, inputs in ((torch.fx.symbolic_trace(Net()), [(X,)]), (captured, None), (str(path), None)):
        session = export(model, inputs)
        torch.testing.assert_close(session.run_method("forward", (X,))[0], Net()(X))
        torch.testing.assert_close(session.get_exported_program().module()(X), Net()(X))


def test_external_weights_run_too() -> None:
    session = export(
        Net(), [(X,)], ExportRecipe(executorch_backend_config=ExecutorchBackendConfig(external_constants=True))
    )
    torch.testing.assert_close(session.run_method()[0], Net()(X))


@pytest.mark.parametrize(
    "stages",
    [None, [T.TORCH_EXPORT, T.TO_EDGE, T.TO_BACKEND, T.TO_EXECUTORCH]],
    ids=["in one step", "in two steps"],
)
def test_partitioners_of_the_recipe(stages: list[StageType] | None, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = ExportRecipe(
        lowering_recipe=LoweringRecipe(partitioners=[AddMulPartitionerDemo()]), pipeline_stages=stages
    )
    session = export(AddMul(), [(S, 2 * S)], recipe)
    lowering = session.get_registered_stage(T.TO_BACKEND if stages else T.TO_EDGE_TRANSFORM_AND_LOWER)
    info: Any = lowering.delegation_info
    # The partitioner takes add and mm, but not sin between them.
    assert (info.num_delegated_subgraphs, info.num_delegated_nodes, info.num_non_delegated_nodes) == (2, 2, 3)
    assert info.get_summary() == (
        "Total delegated subgraphs: 2\nNumber of delegated nodes: 2\nNumber of non-delegated nodes: 3\n"
    )
    session.print_delegation_info()
    assert "aten_sin_default" in capsys.readouterr().out


def test_aten_and_edge_transforms_run_where_they_belong() -> None:
    from sdk.exir.dialects._ops import ops as exir_ops
    from sdk.exir.pass_base import ExportPass

    seen = []

    class ReluToTanh(ExportPass):
        def call_operator(self, op: Any, args: tuple, kwargs: dict, meta: Any) -> Any:
            target = exir_ops.edge.aten.tanh.default if op == exir_ops.edge.aten.relu.default else op
            return super().call_operator(target, args, kwargs, meta)

    def note(method: str, program: Any) -> Any:
        seen.append((method, type(program).__name__))
        return program

    expected = Net().two(torch.tanh(Net().one(X)))
    in_one = ExportRecipe(
        aten_transform_passes=[note],
        lowering_recipe=LoweringRecipe(edge_transform_passes=[lambda m, p: [ReluToTanh()]]),
    )
    torch.testing.assert_close(export(Net(), [(X,)], in_one).run_method()[0], expected)
    assert seen == [("forward", "ExportedProgram")]
    whole_manager = ExportRecipe(
        lowering_recipe=LoweringRecipe(edge_manager_transform_passes=[lambda manager: [ReluToTanh()]]),
        pipeline_stages=[T.TORCH_EXPORT, T.TO_EDGE, T.EDGE_PROGRAM_MANAGER_TRANSFORM, T.TO_EXECUTORCH],
    )
    torch.testing.assert_close(export(Net(), [(X,)], whole_manager).run_method()[0], expected)


@pytest.mark.parametrize(
    ("stages", "says"),
    [
        ([], "Pipeline stages cannot be empty"),
        ([T.TO_EXECUTORCH], "TO_EXECUTORCH cannot start a pipeline. It may follow TO_EDGE_TRANSFORM_AND_LOWER"),
        ([T.TO_EDGE, T.TO_EXECUTORCH], "has to be captured first: begin pipeline_stages with TORCH_EXPORT"),
        ([T.TORCH_EXPORT, T.TO_BACKEND], "TO_BACKEND cannot follow TORCH_EXPORT. It may follow TO_EDGE"),
        ([T.TORCH_EXPORT, T.TO_EDGE, T.SOURCE_TRANSFORM], "cannot follow TO_EDGE. It may follow nothing"),
    ],
)
def test_stages_that_do_not_fit_are_refused_before_anything_runs(stages: list[StageType], says: str) -> None:
    session = ExportSession(Net(), [(X,)], ExportRecipe(pipeline_stages=stages))
    with pytest.raises(ValueError, match="(?s)" + says.replace(".", r"\.")):
        session.export()
    assert session.get_stage_artifacts() == {}


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        (ExportRecipe(quantization_recipe=QuantizationRecipe(quantizers=[object()])), "quantization_recipe.quantizers"),
        (
            ExportRecipe(quantization_recipe=QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(1)])),
            "quantization_recipe.ao_quantization_configs",
        ),
        (ExportRecipe(aten_transform_passes=[lambda m, p: p]), "aten_transform_passes"),
        (
            ExportRecipe(lowering_recipe=LoweringRecipe(edge_manager_transform_passes=[lambda m: []])),
            "Add EDGE_PROGRAM_MANAGER_TRANSFORM to pipeline_stages",
        ),
    ],
)
def test_no_part_of_a_recipe_is_left_out_without_a_word(recipe: ExportRecipe, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        export(torch.export.export(Net(), (X,)), None, recipe)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((Net(),), ValueError, "example_inputs are required for a model of type nn.Module"),
        ((3, [(X,)]), TypeError, "Unsupported model type: <class 'int'>"),
        (({}, [(X,)]), ValueError, "empty dict"),
        (({"a": Net()}, {"b": [(X,)]}), ValueError, "example_inputs names the method 'b'; the model has a"),
        (({"a": Net(), "b": Net()}, [(X,)]), ValueError, "methods a, b: give example_inputs as a dict"),
        (
            ({"a": Net(), "b": torch.export.export(Net(), (X,))}, {"a": [(X,)]}),
            TypeError,
            "a is a nn.Module, b is a ExportedProgram",
        ),
    ],
)
def test_models_and_inputs_that_do_not_fit(arguments: tuple, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        ExportSession(*arguments)


def test_what_has_not_run_is_not_there() -> None:
    session = ExportSession(Net(), [(X,)], ExportRecipe(pipeline_stages=[T.TORCH_EXPORT]))
    with pytest.raises(RuntimeError, match="Exported program is not available"):
        session.get_exported_program()
    session.export()
    for wrong in (session.get_edge_program_manager, session.get_pte_buffer, session.run_method, session.get_receipt):
        with pytest.raises(RuntimeError, match=r"Run .* Stage first"):
            wrong()


def test_a_stage_of_the_users_own_and_what_happens_around_stages() -> None:
    class Shifted(Stage):
        stage_type = T.SOURCE_TRANSFORM
        valid_predecessor_stages = ()
        can_start_pipeline = True

        def run(self, artifact: PipelineArtifact) -> None:
            models = {name: nn.Sequential(model, nn.ReLU()) for name, model in artifact.data.items()}
            self._artifact = artifact.copy_with_new_data(models)

    session = ExportSession(Net(), [(X,)], name="shifted", artifact_dir="somewhere")
    session.register_stage(T.SOURCE_TRANSFORM, Shifted())
    order = []

    @contextmanager
    def around(stage: StageType) -> Any:
        order.append(f"before {stage.name}")
        yield
        order.append(f"after {stage.name}")

    session.export(around)
    assert order[:3] == ["before SOURCE_TRANSFORM", "after SOURCE_TRANSFORM", "before QUANTIZE"]
    torch.testing.assert_close(session.run_method()[0], torch.relu(Net()(X)))
    context = session.get_stage_artifacts()[T.TO_EXECUTORCH].context
    assert (context["session_name"], context["artifact_dir"]) == ("shifted", "somewhere")


def test_exp_11_pt2e_quantisation_calibrates_with_every_example() -> None:
    """EXP-11: quantised graphs are captured again, and their program gives what the quantised module gives."""
    from torchao.quantization.pt2e import MinMaxObserver
    from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer

    class InputOfLinear(Quantizer):
        """Annotates the input of every linear layer: 8 bits, one scale."""

        def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
            spec = QuantizationSpec(torch.int8, MinMaxObserver, -128, 127, torch.per_tensor_affine)
            for node in model.graph.nodes:
                if node.target is torch.ops.aten.linear.default:
                    node.meta["quantization_annotation"] = QuantizationAnnotation({node.args[0]: spec}, _annotated=True)
            return model

        def validate(self, model: torch.fx.GraphModule) -> None:
            pass

    # The second example is ten times as large: a scale found with the first alone would cut it off.
    recipe = ExportRecipe(quantization_recipe=QuantizationRecipe(quantizers=[InputOfLinear()]))
    session = ExportSession(Net(), [(X,), (10 * X,)], recipe)
    session.export()
    quantized = session.get_stage_artifacts()[T.QUANTIZE].data["forward"]
    dequantized = [n for n in quantized.graph.nodes if "dequantize_per_tensor" in str(n.target)]
    assert len(dequantized) == 2
    assert 10 * 2 / 255 * 0.99 < dequantized[0].args[1] < 10 * 2 / 255 * 1.01
    torch.testing.assert_close(quantized(10 * X), Net()(10 * X), atol=0.2, rtol=0.1)


@pytest.mark.parametrize("persistent", [True, False])
def test_exp_11_calibration_leaves_state_as_it_was(persistent: bool) -> None:
    """EXP-11: calibration does not change the buffers of the program or of the caller's model."""

    class Sums(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("sums", torch.full((4,), 3.0), persistent=persistent)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.sums.add_(1)  # type: ignore[operator]
            return self.linear(x) + self.sums

    model, x = Sums().eval(), torch.rand(2, 4)
    recipe = ExportRecipe(quantization_recipe=QuantizationRecipe(quantizers=[quantizer()]))
    session = ExportSession(model, [(x,), (x,)], recipe)
    session.export()
    assert torch.equal(model.sums, torch.full((4,), 3.0))  # type: ignore[arg-type]
    torch.testing.assert_close(session.run_method("forward", (x,))[0], model.linear(x) + 4, atol=0.1, rtol=0.1)


def test_torchao_quantises_a_copy() -> None:
    from torchao.quantization import Int8WeightOnlyConfig

    model = Net()
    before = model.one.weight.clone()
    recipe = ExportRecipe(
        quantization_recipe=QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(Int8WeightOnlyConfig())]),
        pipeline_stages=[T.SOURCE_TRANSFORM],
    )
    session = export(model, [(X,)], recipe)
    quantized = session.get_stage_artifacts()[T.SOURCE_TRANSFORM].data["forward"]
    assert torch.equal(model.one.weight, before) and type(model.one.weight) is nn.Parameter
    torch.testing.assert_close(quantized(X), model(X), atol=0.02, rtol=0.05)
    assert not torch.equal(quantized(X), model(X))


def test_a_quantizer_of_another_kind_is_refused() -> None:
    recipe = ExportRecipe(quantization_recipe=QuantizationRecipe(quantizers=[object()]))
    with pytest.raises(ValueError, match=r"object: expected quantizers that derive from torchao"):
        export(Net(), [(X,)], recipe)
