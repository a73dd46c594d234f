# SPDX-License-Identifier: BSD-3-Clause
"""The stages of an export. Each takes an artifact, processes it, and stores the resulting artifact."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from sdk.devtools.backend_debug import get_delegation_info
from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.export._capture import capture, examples_of
from sdk.export._dtypes import in_dtype
from sdk.export._quantization import (
    ComposableQuantizer,
    convert_pt2e,
    is_pt2e_quantizer,
    prepare_pt2e,
    quantize_,
    unwrap_tensor_subclass,
)
from sdk.export.types import StageType

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from sdk.exir import EdgeCompileConfig
    from sdk.export.recipe import LoweringRecipe, QuantizationRecipe

PassesOf = Callable[[str, "ExportedProgram"], Any]
"""A method's name and program -> the passes to run on it."""


class PipelineArtifact:
    """The output of a stage: `data`, and a context that later stages get copies of."""

    def __init__(self, data: Any, context: dict[str, Any]) -> None:
        self.data = data
        self.context = context

    def add_context(self, key: str, value: Any) -> None:
        """Stores a value for later stages."""
        self.context[key] = value

    def get_context(self, key: str, default: Any = None) -> Any:
        """The value that an earlier stage stored, or `default`."""
        return self.context.get(key, default)

    def copy_with_new_data(self, new_data: Any) -> PipelineArtifact:
        """An artifact with other data and a copy of the context."""
        return PipelineArtifact(new_data, dict(self.context))


class Stage(ABC):
    """One step of the pipeline. Register your own with `ExportSession.register_stage`."""

    def __init__(self) -> None:
        self._artifact: PipelineArtifact | None = None

    @property
    @abstractmethod
    def stage_type(self) -> StageType:
        """Which step this is."""

    @property
    @abstractmethod
    def valid_predecessor_stages(self) -> Sequence[StageType]:
        """The stages whose artifact this one accepts."""

    @property
    @abstractmethod
    def can_start_pipeline(self) -> bool:
        """Whether it can be the first."""

    @abstractmethod
    def run(self, artifact: PipelineArtifact) -> None:
        """Runs the stage. `get_artifacts` then returns the result."""

    def get_artifacts(self) -> PipelineArtifact:
        """The result of `run`. Raises RuntimeError before it."""
        if self._artifact is None:
            raise RuntimeError(f"Stage: {type(self).__name__} not executed")
        return self._artifact


class SourceTransformStage(Stage):
    """Quantises modules with torchao, on copies. Data: dict of method name to nn.Module."""

    stage_type = StageType.SOURCE_TRANSFORM
    valid_predecessor_stages: Sequence[StageType] = ()
    can_start_pipeline = True

    def __init__(self, quantization_recipe: QuantizationRecipe | None) -> None:
        super().__init__()
        self._quantization_recipe = quantization_recipe

    def run(self, artifact: PipelineArtifact) -> None:
        configs = self._quantization_recipe.ao_quantization_configs if self._quantization_recipe else None
        if not configs:
            self._artifact = artifact
            return
        models = copy.deepcopy(artifact.data)
        for model in models.values():
            for config in configs:
                quantize_(model, config.ao_base_config, config.filter_fn)
            unwrap_tensor_subclass(model)
        self._artifact = artifact.copy_with_new_data(models)


class QuantizeStage(Stage):
    """Post-training quantisation (PT2E), calibrated with all example inputs. Data: dict of method name to nn.Module."""

    stage_type = StageType.QUANTIZE
    valid_predecessor_stages = (StageType.SOURCE_TRANSFORM,)
    can_start_pipeline = True

    def __init__(self, quantization_recipe: QuantizationRecipe | None) -> None:
        super().__init__()
        self._quantization_recipe = quantization_recipe

    def run(self, artifact: PipelineArtifact) -> None:
        recipe = self._quantization_recipe
        if recipe is None or not recipe.quantizers:
            self._artifact = artifact
            return
        quantized = {}
        for method, model in artifact.data.items():
            examples = examples_of(artifact, method)
            program = capture(artifact, method, model, strict=True)
            for transform in recipe.captured_transforms or ():
                program = transform(program)
            captured = program.module()
            # Calibration changes a model's buffers, but the program must start from their initial values.
            state = {name: buffer.clone() for name, buffer in captured.named_buffers()}
            prepared = prepare_pt2e(captured, self._get_quantizer_for_prepare_pt2e(recipe.quantizers))
            for example in examples:
                prepared(*example.args, **example.kwargs)
            for name, buffer in prepared.named_buffers():
                if name in state:
                    buffer.copy_(state[name])
            quantized[method] = convert_pt2e(prepared)
        self._artifact = artifact.copy_with_new_data(quantized)

    def _get_quantizer_for_prepare_pt2e(self, quantizers: list[Any]) -> Any:
        if not quantizers:
            raise ValueError("No quantizers detected in the quantization recipe")
        others = [type(q).__name__ for q in quantizers if not is_pt2e_quantizer(q)]
        if others:
            raise ValueError(
                f"{', '.join(others)}: expected quantizers that derive from "
                f"torchao.quantization.pt2e.quantizer.Quantizer"
            )
        return ComposableQuantizer(quantizers)


class TorchExportStage(Stage):
    """Captures modules with torch.export. Data: dict of method name to nn.Module -> dict to ExportedProgram."""

    stage_type = StageType.TORCH_EXPORT
    valid_predecessor_stages = (StageType.SOURCE_TRANSFORM, StageType.QUANTIZE)
    can_start_pipeline = True

    def __init__(
        self,
        aten_transform_passes: list[Callable[[str, ExportedProgram], ExportedProgram]] | None = None,
        strict: bool = True,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self._aten_transform_passes = aten_transform_passes
        self._strict = strict
        self._dtype = dtype

    def run(self, artifact: PipelineArtifact) -> None:
        programs = {}
        for method, model in artifact.data.items():
            programs[method] = in_dtype(capture(artifact, method, model, strict=self._strict), self._dtype)
            for transform in self._aten_transform_passes or ():
                if not callable(transform):
                    raise ValueError(
                        "Aten transform passes must be a callable that can transform and return an exported program, "
                        f"got {type(transform).__name__}"
                    )
                programs[method] = transform(method, programs[method])
        self._artifact = artifact.copy_with_new_data(programs)


class _DelegatingStage(Stage):
    """A stage that delegates parts of programs to backends."""

    @property
    def delegation_info(self) -> Any:
        """Returns how many nodes of `forward`, or of the first method if there is no `forward`, were delegated. None
        before `run`."""
        return None if self._artifact is None else self._artifact.get_context("delegation_info")


class EdgeTransformAndLowerStage(_DelegatingStage):
    """Lowers to edge dialect, runs passes and delegates. Data: dict of method name to ExportedProgram ->
    EdgeProgramManager."""

    stage_type = StageType.TO_EDGE_TRANSFORM_AND_LOWER
    valid_predecessor_stages = (StageType.TORCH_EXPORT,)
    can_start_pipeline = True

    def __init__(
        self,
        partitioners: list[Any] | None = None,
        transform_passes: list[PassesOf] | None = None,
        compile_config: Any | None = None,
    ) -> None:
        super().__init__()
        self._partitioners = partitioners
        self._transform_passes = transform_passes
        self._compile_config = compile_config

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> EdgeTransformAndLowerStage:
        """Creates the stage that a recipe describes."""
        if lowering_recipe is None:
            return cls()
        return cls(
            lowering_recipe.partitioners, lowering_recipe.edge_transform_passes, lowering_recipe.edge_compile_config
        )

    def run(self, artifact: PipelineArtifact) -> None:
        passes = _passes_by_method(self._transform_passes, artifact.data)
        manager = to_edge_transform_and_lower(
            artifact.data,
            partitioner=self._partitioners,
            transform_passes=passes,
            constant_methods=_constant_methods(artifact),
            compile_config=self._compile_config,
            generate_etrecord=artifact.get_context("generate_etrecord", False),
        )
        self._artifact = artifact.copy_with_new_data(manager)
        _add_delegation_info(self._artifact, list(artifact.data))


class ToEdgeStage(Stage):
    """Lowers to edge dialect. Data: dict of method name to ExportedProgram -> EdgeProgramManager."""

    stage_type = StageType.TO_EDGE
    valid_predecessor_stages = (StageType.TORCH_EXPORT,)
    can_start_pipeline = True

    def __init__(self, edge_compile_config: EdgeCompileConfig | None = None) -> None:
        super().__init__()
        self._edge_compile_config = edge_compile_config

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> ToEdgeStage:
        """Creates the stage that a recipe describes."""
        return cls(lowering_recipe.edge_compile_config if lowering_recipe else None)

    def run(self, artifact: PipelineArtifact) -> None:
        manager = to_edge(
            artifact.data,
            constant_methods=_constant_methods(artifact),
            compile_config=self._edge_compile_config,
            generate_etrecord=artifact.get_context("generate_etrecord", False),
        )
        self._artifact = artifact.copy_with_new_data(manager)


class EdgeProgramManagerTransformStage(Stage):
    """Runs passes over programs in edge dialect: first the passes of each method, then the passes for all methods."""

    stage_type = StageType.EDGE_PROGRAM_MANAGER_TRANSFORM
    valid_predecessor_stages = (StageType.TO_EDGE,)
    can_start_pipeline = False

    def __init__(
        self,
        edge_transform_passes: list[PassesOf] | None = None,
        edge_manager_transform_passes: list[Callable[[Any], Any]] | None = None,
    ) -> None:
        super().__init__()
        self._edge_transform_passes = edge_transform_passes
        self._edge_manager_transform_passes = edge_manager_transform_passes

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> EdgeProgramManagerTransformStage:
        """Creates the stage that a recipe describes."""
        if lowering_recipe is None:
            return cls()
        return cls(lowering_recipe.edge_transform_passes, lowering_recipe.edge_manager_transform_passes)

    def run(self, artifact: PipelineArtifact) -> None:
        manager = _edge_manager(artifact)
        if self._edge_transform_passes:
            programs = {method: manager.exported_program(method) for method in sorted(manager.methods)}
            manager = manager.transform(_passes_by_method(self._edge_transform_passes, programs))
        for passes_of in self._edge_manager_transform_passes or ():
            manager = manager.transform(_as_passes(passes_of(manager)))
        self._artifact = artifact.copy_with_new_data(manager)


class ToBackendStage(_DelegatingStage):
    """Delegates parts of programs in edge dialect. Data: EdgeProgramManager."""

    stage_type = StageType.TO_BACKEND
    valid_predecessor_stages = (StageType.TO_EDGE, StageType.EDGE_PROGRAM_MANAGER_TRANSFORM)
    can_start_pipeline = False

    def __init__(self, partitioners: list[Any] | None = None) -> None:
        super().__init__()
        self._partitioners = partitioners

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> ToBackendStage:
        """Creates the stage that a recipe describes."""
        return cls(lowering_recipe.partitioners if lowering_recipe else None)

    def run(self, artifact: PipelineArtifact) -> None:
        manager = _edge_manager(artifact)
        for partitioner in self._partitioners or ():
            manager = manager.to_backend(partitioner)
        self._artifact = artifact.copy_with_new_data(manager)
        _add_delegation_info(self._artifact, sorted(manager.methods))


class ExecutorchStage(Stage):
    """Lowers to the form that the runtime executes. Data: EdgeProgramManager -> ExecutorchProgramManager."""

    stage_type = StageType.TO_EXECUTORCH
    valid_predecessor_stages = (
        StageType.TO_EDGE_TRANSFORM_AND_LOWER,
        StageType.TO_BACKEND,
        StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
    )
    can_start_pipeline = False

    def __init__(self, backend_config: Any) -> None:
        super().__init__()
        self._backend_config = backend_config

    def run(self, artifact: PipelineArtifact) -> None:
        self._artifact = artifact.copy_with_new_data(_edge_manager(artifact).to_executorch(self._backend_config))


def _constant_methods(artifact: PipelineArtifact) -> dict[str, Any] | None:
    """Returns constants by method name. A function is replaced by its result."""
    methods = artifact.get_context("constant_methods")
    return methods and {name: value() if callable(value) else value for name, value in methods.items()}


def _edge_manager(artifact: PipelineArtifact) -> Any:
    if artifact.data is None:
        raise RuntimeError("Edge program manager is not set: run a stage that lowers to edge dialect first.")
    return artifact.data


def _passes_by_method(
    functions: list[PassesOf] | None, programs: Mapping[str, ExportedProgram]
) -> dict[str, list[Any]] | None:
    if not functions:
        return None
    return {
        method: [p for passes_of in functions for p in _as_passes(passes_of(method, program))]
        for method, program in programs.items()
    }


def _as_passes(given: Any) -> list[Any]:
    """Flattens a list of passes. A pass manager is replaced by its passes."""
    passes = getattr(given, "passes", given)
    return list(passes) if isinstance(passes, (list, tuple)) else [passes]


def _add_delegation_info(artifact: PipelineArtifact, methods: list[str]) -> None:
    infos = {method: get_delegation_info(artifact.data.exported_program(method).graph_module) for method in methods}
    artifact.add_context("delegation_info", infos.get("forward") or next(iter(infos.values()), None))
    artifact.add_context("delegation_info_by_method", infos)
