# SPDX-License-Identifier: BSD-3-Clause
"""`export` and `ExportSession`: the stages of a recipe, run in order on a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch.export import ExportedProgram

from sdk.export._dtypes import check_dtype, in_dtype
from sdk.export._methods import Models, as_models, by_method, kind_of, of_method
from sdk.export.example_inputs import ExampleInputs
from sdk.export.recipe import ExportRecipe
from sdk.export.stages import (
    EdgeProgramManagerTransformStage,
    EdgeTransformAndLowerStage,
    ExecutorchStage,
    PipelineArtifact,
    QuantizeStage,
    SourceTransformStage,
    Stage,
    ToBackendStage,
    ToEdgeStage,
    TorchExportStage,
)
from sdk.export.types import StageType

if TYPE_CHECKING:
    from sdk.devtools.report import Receipt
    from sdk.exir import EdgeProgramManager, ExecutorchProgramManager
    from sdk.exir.schema import Program

_QUANTIZATION = (StageType.SOURCE_TRANSFORM, StageType.QUANTIZE)
_NOT_FOR = {
    "nn.Module": (),
    "GraphModule": _QUANTIZATION,
    "ExportedProgram": (*_QUANTIZATION, StageType.TORCH_EXPORT),
}
"""The stages that a kind of model does not need."""

Around = Callable[[StageType], AbstractContextManager[Any]]

_AFTER_CAPTURE = (StageType.TO_EDGE, StageType.TO_EDGE_TRANSFORM_AND_LOWER)
_DEFAULT = (
    *_QUANTIZATION,
    StageType.TORCH_EXPORT,
    StageType.TO_EDGE_TRANSFORM_AND_LOWER,
    StageType.TO_EXECUTORCH,
)


def export(
    model: Models,
    example_inputs: Sequence[Any] | dict[str, Sequence[Any]] | None = None,
    export_recipe: ExportRecipe | None = None,
    name: str | None = None,
    dynamic_shapes: Any | dict[str, Any] | None = None,
    constant_methods: dict[str, Any] | None = None,
    artifact_dir: str | None = None,
    generate_etrecord: bool = False,
    strict: bool = False,
) -> ExportSession:
    """Exports a model by a recipe; the returned session has the program and the artifact of every stage.

    The arguments are those of `ExportSession`.
    """
    session = ExportSession(
        model,
        example_inputs,
        export_recipe,
        name=name,
        dynamic_shapes=dynamic_shapes,
        constant_methods=constant_methods,
        artifact_dir=artifact_dir,
        generate_etrecord=generate_etrecord,
        strict=strict,
    )
    session.export()
    return session


class ExportSession:
    """One export: a model, a recipe, and the artifacts of the recipe's stages."""

    def __init__(
        self,
        model: Models,
        example_inputs: Sequence[Any] | dict[str, Sequence[Any]] | None = None,
        export_recipe: ExportRecipe | None = None,
        name: str | None = None,
        dynamic_shapes: Any | dict[str, Any] | None = None,
        constant_methods: dict[str, Any] | None = None,
        artifact_dir: str | None = None,
        generate_etrecord: bool | None = False,
        strict: bool = False,
    ) -> None:
        """Nothing runs before `export()`.

        Args:
            model: An nn.Module, a GraphModule or an ExportedProgram, which becomes the method `forward`; a dict of
                them by method name; or the path of a `.pt2` file.
            example_inputs: A list of example calls, or a dict of such lists by method name. A call is a tuple of
                positional inputs, a dict of keyword inputs, or ExampleInputs. The first call is used for the capture,
                all of them for calibration. Not needed for an ExportedProgram.
            export_recipe: None lowers without quantisation and without delegates. (The command line gives the model to
                its default backend; a recipe of that backend does the same here.)
            dynamic_shapes: As in torch.export.export, or a dict of it by method name.
            constant_methods: Methods without inputs that return a constant; a function is replaced by its result.
            name, artifact_dir: Values for custom stages; the context of every artifact has them.
            generate_etrecord: Make the ETRecord for the debugging tools.
            strict: Fail if something would be lost silently (see `sdk.devtools.report.Receipt.losses`).

        Raises:
            TypeError: the model is of another kind.
            ValueError: example inputs are missing, or there are some for methods that do not exist.
        """
        self._export_recipe = export_recipe or ExportRecipe()
        self._model: dict[str, Any] = as_models(model)
        self._input_model_type = kind_of(self._model)
        self._programs: dict[str, ExportedProgram] = {}  # a captured model in the dtype of the recipe
        self._example_inputs = by_method(example_inputs, "example_inputs", self._model)
        if not self._example_inputs and self._input_model_type != "ExportedProgram":
            raise ValueError(
                f"example_inputs are required for a model of type {self._input_model_type}: a list of example calls, "
                f"each a tuple of inputs, for example [(torch.ones(1, 8),)]"
            )
        self._strict = strict
        self._run_context: dict[str, Any] = {
            "example_inputs": self._example_inputs,
            "dynamic_shapes": by_method(dynamic_shapes, "dynamic_shapes", self._model),
            "constant_methods": constant_methods,
            "export_recipe": self._export_recipe,
            "session_name": name,
            "artifact_dir": artifact_dir,
            "generate_etrecord": generate_etrecord,
        }
        self._pipeline = self._export_recipe.pipeline_stages
        if self._pipeline is None:
            self._pipeline = self._get_default_pipeline()
        self._stage_registry: dict[StageType, Stage] = {}
        for stage_type in self._pipeline:
            stage = self._make_stage(stage_type)
            if stage is not None:
                self._stage_registry[stage_type] = stage
        self._stage_to_artifacts: dict[StageType, PipelineArtifact] = {}

    # Stages

    def register_stage(self, stage_type: StageType, stage: Stage) -> None:
        """Replaces the stage of `stage_type`, or adds a new one."""
        self._stage_registry[stage_type] = stage

    def get_registered_stage(self, stage_type: StageType) -> Stage | None:
        """The stage that runs as `stage_type`, or None."""
        return self._stage_registry.get(stage_type)

    def get_all_registered_stages(self) -> dict[StageType, Stage]:
        """Every stage by type: those of the pipeline in its order, then the types that `register_stage` added."""
        return self._stage_registry

    def get_stage_artifacts(self) -> dict[StageType, PipelineArtifact]:
        """The result of each stage that has run."""
        return self._stage_to_artifacts

    def export(self, around: Around | None = None) -> None:
        """Runs the stages. The context manager `around(stage_type)` surrounds each stage, for progress and logs.

        Raises:
            ValueError: the stages do not fit together or do not fit the model; nothing has run then.
            LossError: with `strict`, where something would be lost silently.
        """
        self._run_pipeline(around or (lambda _: nullcontext()))

    def _run_pipeline(self, around: Around = lambda _: nullcontext()) -> None:
        stages = self._pipeline or []
        self._validate_model(stages)
        self._validate_pipeline_sequence(stages)
        self._validate_recipe(stages)
        self._stage_to_artifacts = {}
        if self._input_model_type == "ExportedProgram":
            dtype = self._export_recipe.dtype
            self._programs = {method: in_dtype(program, dtype) for method, program in self._model.items()}
        artifact = PipelineArtifact(self._programs or self._model, self._run_context)
        for stage_type in stages:
            stage = self._stage_registry[stage_type]
            with around(stage_type):
                stage.run(artifact)
                artifact = stage.get_artifacts()
            self._stage_to_artifacts[stage_type] = artifact
        if self._strict and StageType.TO_EXECUTORCH in self._stage_to_artifacts:
            self.get_receipt().raise_for_losses()

    def _get_default_pipeline(self) -> list[StageType]:
        return [stage for stage in _DEFAULT if stage not in _NOT_FOR[self._input_model_type]]

    def _make_stage(self, stage_type: StageType) -> Stage | None:
        recipe = self._export_recipe
        lowering, quantization = recipe.lowering_recipe, recipe.quantization_recipe
        makers: dict[StageType, Callable[[], Stage]] = {
            StageType.SOURCE_TRANSFORM: lambda: SourceTransformStage(quantization),
            StageType.QUANTIZE: lambda: QuantizeStage(quantization),
            StageType.TORCH_EXPORT: lambda: TorchExportStage(recipe.aten_transform_passes, recipe.strict, recipe.dtype),
            StageType.TO_EDGE_TRANSFORM_AND_LOWER: lambda: EdgeTransformAndLowerStage.from_recipe(lowering),
            StageType.TO_EDGE: lambda: ToEdgeStage.from_recipe(lowering),
            StageType.EDGE_PROGRAM_MANAGER_TRANSFORM: lambda: EdgeProgramManagerTransformStage.from_recipe(lowering),
            StageType.TO_BACKEND: lambda: ToBackendStage.from_recipe(lowering),
            StageType.TO_EXECUTORCH: lambda: ExecutorchStage(recipe.executorch_backend_config),
        }
        make = makers.get(stage_type)
        return None if make is None else make()

    def _validate_pipeline_sequence(self, stages: Sequence[StageType]) -> None:
        if not stages:
            raise ValueError("Pipeline stages cannot be empty")
        for before, stage_type in zip([None, *stages], stages, strict=False):
            stage = self._stage_registry.get(stage_type)
            if stage is None:
                raise ValueError(
                    f"Stage {stage_type} not found in registry, register it using session.register_stage()"
                )
            allowed = ", ".join(s.name for s in stage.valid_predecessor_stages) or "nothing: it comes first"
            if before is None and not stage.can_start_pipeline:
                raise ValueError(f"Stage {stage_type.name} cannot start a pipeline. It may follow {allowed}.")
            if before is not None and before not in stage.valid_predecessor_stages:
                raise ValueError(f"Stage {stage_type.name} cannot follow {before.name}. It may follow {allowed}.")

    def _validate_model(self, stages: Sequence[StageType]) -> None:
        kind = self._input_model_type
        past = [stage.name for stage in stages if stage in _NOT_FOR[kind]]
        if past:
            raise ValueError(
                f"Cannot run {', '.join(past)} stage(s) on a model of type {kind}: it is past them already. Leave "
                f"them out of pipeline_stages, or pass the nn.Module."
            )
        if kind != "ExportedProgram" and stages and stages[0] in _AFTER_CAPTURE:
            raise ValueError(
                f"A model of type {kind} has to be captured first: begin pipeline_stages with TORCH_EXPORT, or pass an "
                f"ExportedProgram."
            )

    def _validate_recipe(self, stages: Sequence[StageType]) -> None:
        """Raises ValueError if the recipe contradicts itself, or no stage does what it specifies."""
        recipe = self._export_recipe
        quantization, lowering = recipe.quantization_recipe, recipe.lowering_recipe
        check_dtype(recipe)
        unused = {
            "quantization_recipe.ao_quantization_configs": (
                quantization and quantization.ao_quantization_configs,
                (StageType.SOURCE_TRANSFORM,),
            ),
            "quantization_recipe.quantizers": (quantization and quantization.quantizers, (StageType.QUANTIZE,)),
            "aten_transform_passes": (recipe.aten_transform_passes, (StageType.TORCH_EXPORT,)),
            "lowering_recipe.partitioners": (
                lowering and lowering.partitioners,
                (StageType.TO_EDGE_TRANSFORM_AND_LOWER, StageType.TO_BACKEND),
            ),
            "lowering_recipe.edge_transform_passes": (
                lowering and lowering.edge_transform_passes,
                (StageType.TO_EDGE_TRANSFORM_AND_LOWER, StageType.EDGE_PROGRAM_MANAGER_TRANSFORM),
            ),
            "lowering_recipe.edge_manager_transform_passes": (
                lowering and lowering.edge_manager_transform_passes,
                (StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,),
            ),
        }
        # A pipeline that ends early omits later stages intentionally.
        if StageType.TO_EXECUTORCH not in stages:
            return
        for field, (given, users) in unused.items():
            if given and not any(stage in stages for stage in users):
                raise ValueError(
                    f"The recipe has {field}, but none of the stages {', '.join(s.name for s in stages)} uses it. Add "
                    f"{' or '.join(s.name for s in users)} to pipeline_stages, or take it out of the recipe."
                )

    # Results

    def get_exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """A captured method, in the recipe's dtype and after its ATen passes. Raises RuntimeError before the capture,
        KeyError for an unknown name."""
        artifact = self._stage_to_artifacts.get(StageType.TORCH_EXPORT)
        if artifact is not None:
            programs = artifact.data
        elif self._input_model_type == "ExportedProgram":
            programs = self._programs or self._model
        else:
            raise RuntimeError("Exported program is not available. Run Torch Export Stage first.")
        return of_method(programs, method_name)

    def get_edge_program_manager(self) -> EdgeProgramManager:
        """The programs in edge dialect, as the last stage left them. Raises RuntimeError before there are any."""
        for stage_type in (
            StageType.TO_EDGE_TRANSFORM_AND_LOWER,
            StageType.TO_BACKEND,
            StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
            StageType.TO_EDGE,
        ):
            if stage_type in self._stage_to_artifacts:
                return self._stage_to_artifacts[stage_type].data
        raise RuntimeError("Edge program manager is not available. Run Edge Transform and Lower Stage first.")

    def get_executorch_program_manager(self) -> ExecutorchProgramManager:
        """The programs in the form that runs. Raises RuntimeError before there are any."""
        artifact = self._stage_to_artifacts.get(StageType.TO_EXECUTORCH)
        if artifact is None or artifact.data is None:
            raise RuntimeError("Executorch program manager is not initialized. Run Executorch Stage first.")
        return artifact.data

    def get_executorch_program(self) -> Program:
        """The program as the schema's dataclasses."""
        return self.get_executorch_program_manager().executorch_program

    def get_pte_buffer(self) -> bytes:
        """The contents of the `.pte` file."""
        return self.get_executorch_program_manager().buffer

    def get_receipt(self) -> Receipt:
        """Every node, where it runs, why it does not run elsewhere, and the losses compared with the model."""
        manager = self.get_executorch_program_manager()
        try:
            captured = {method: self.get_exported_program(method) for method in manager.methods}
        except (RuntimeError, KeyError):
            captured = None  # the user's own stages made the programs
        return manager.get_receipt(captured)

    def save_to_pte(self, output_name: str) -> None:
        """Writes `output_name` (`.pte` is appended if missing), and external weights beside it."""
        assert output_name, "output_name: expected the name of the .pte file to write"
        path = Path(output_name)
        self.get_executorch_program_manager().save(
            path if path.suffix == ".pte" else path.with_name(path.name + ".pte")
        )

    def get_example_input(self, method_name: str = "forward") -> Any:
        """The first example call of a method. Raises KeyError for an unknown name, ValueError without example calls."""
        examples = of_method(self._example_inputs, method_name)
        if not examples:
            raise ValueError(f"Example inputs list for method {method_name} is empty.")
        return examples[0]

    def run_method(self, method_name: str = "forward", example_inputs: Any | None = None) -> Sequence[Any]:
        """Runs the program in this process, on `example_inputs` or the method's first example. Outputs are flat."""
        from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

        manager = self.get_executorch_program_manager()
        given = self.get_example_input(method_name) if example_inputs is None else example_inputs
        files = [bytes(data) for data in manager._tensor_data.values()]
        if len(files) > 1:
            raise RuntimeError("The program's weights are in several files: save it and load it with sdk.runtime.")
        module = _load_for_executorch_from_buffer(manager.buffer, files[0] if files else None)
        return module.run_method(method_name, tuple(ExampleInputs.of(given).leaves()))

    def print_delegation_info(self) -> None:
        """Prints for each method how many calls of each operator are delegated."""
        from sdk.devtools.backend_debug import print_delegation_info

        manager = self.get_edge_program_manager()
        for method in sorted(manager.methods):
            if len(manager.methods) > 1:
                print(f"method {method}")
            print_delegation_info(manager.exported_program(method).graph_module)

    def get_etrecord(self) -> Any:
        """The ETRecord for the developer tools. Raises RuntimeError unless `generate_etrecord` was set."""
        if not self._run_context["generate_etrecord"]:
            raise RuntimeError("ETRecord was not generated. Export with generate_etrecord=True.")
        return self.get_executorch_program_manager().get_etrecord()
