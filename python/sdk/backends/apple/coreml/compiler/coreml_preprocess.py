# SPDX-License-Identifier: BSD-3-Clause
"""`CoreMLBackend`: compiles a partition into a payload for Core ML, and makes the compile specs that it reads."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from enum import Enum
from typing import Any, final

import torch
from torch.export import ExportedProgram

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.compiler import compile_specs as specs_module
from sdk.backends.apple.coreml.compiler.compile_specs import (
    COMPILE_SPEC_KEYS,
    MULTIMETHOD_WEIGHT_SHARING_STRATEGY,
    EnumeratedShape,
    ModelType,
    make,
)
from sdk.backends.apple.coreml.compiler.conversion import Package, convert
from sdk.backends.apple.coreml.compiler.settings import Settings, settings_of
from sdk.backends.apple.coreml.compiler.sharing import convert_shared
from sdk.backends.apple.coreml.compiler.targets import least_target
from sdk.backends.apple.coreml.container import SharedModel, pack, pack_shared
from sdk.exir._serialize._named_data_store import NamedDataStore
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.declarations import declare_loss

__all__ = ["COMPILE_SPEC_KEYS", "MODEL_PATHS", "MULTIMETHOD_WEIGHT_SHARING_STRATEGY", "CoreMLBackend"]

logger = logging.getLogger("sdk.backends.apple.coreml.compiler")


class MODEL_PATHS(Enum):  # noqa: N801 -- ExecuTorch's name
    """The files and folders in the folder of a payload."""

    MODEL = "model.mlpackage"
    COMPILED_MODEL = "model.mlmodelc"
    METADATA = "metadata.json"
    DEBUG_INFO = "debug_info.json"


@final
class CoreMLBackend(BackendDetails):
    """The payload is a folder (`sdk.backends.apple.coreml.container`) with a package and its metadata."""

    MODEL_TYPE = ModelType

    @staticmethod
    def generate_compile_specs(
        compute_unit: Any = None,
        minimum_deployment_target: Any = None,
        compute_precision: Any = None,
        model_type: ModelType = ModelType.MODEL,
        op_linear_quantizer_config: dict[str, Any] | None = None,
        pass_names: list[str] | None = None,
    ) -> list[CompileSpec]:
        """The compile specs for `CoreMLPartitioner`.

        Args:
            compute_unit: A `coremltools.ComputeUnit`, the processors that the model may use; ALL by default.
            minimum_deployment_target: A `coremltools.target`, the oldest system that runs the model; by default the
                oldest that has the model's operators, iOS 16 at least.
            compute_precision: A `coremltools.precision`, whatever the model's dtype is; FLOAT16 by default.
            model_type: MODEL, which the device compiles. `preprocess` refuses COMPILED_MODEL, because this SDK does not
                call Apple's compiler.
            op_linear_quantizer_config: Fields of coremltools' `OpLinearQuantizerConfig`: quantises weights.
            pass_names: The passes of coremltools to run; its default pipeline by default.
        """
        ct = coremltools()
        specs = [
            CoreMLBackend.generate_compute_unit_compile_spec(compute_unit or ct.ComputeUnit.ALL),
            CoreMLBackend.generate_minimum_deployment_target_compile_spec(minimum_deployment_target),
            CoreMLBackend.generate_compute_precision_compile_spec(compute_precision or ct.precision.FLOAT16),
            CoreMLBackend.generate_model_type_compile_spec(model_type),
        ]
        if op_linear_quantizer_config is not None:
            specs.append(CoreMLBackend.generate_op_linear_quantizer_config_compile_spec(op_linear_quantizer_config))
        if pass_names is not None:
            specs.append(CoreMLBackend.generate_pass_pipeline_compile_spec(pass_names))
        return specs

    @staticmethod
    def generate_compute_unit_compile_spec(compute_unit: Any) -> CompileSpec:
        """The spec of a `coremltools.ComputeUnit`."""
        return make(COMPILE_SPEC_KEYS.COMPUTE_UNITS, _checked(compute_unit, "ComputeUnit").name.lower())

    @staticmethod
    def compute_unit_from_compile_specs(compile_specs: Sequence[CompileSpec]) -> Any:
        """The `coremltools.ComputeUnit`."""
        return settings_of(compile_specs).compute_unit

    @staticmethod
    def generate_minimum_deployment_target_compile_spec(min_deployment_target: Any) -> CompileSpec:
        """The spec of a `coremltools.target`, or of None for the oldest target that the model allows."""
        text = "" if min_deployment_target is None else str(_checked(min_deployment_target, "target").value)
        return make(COMPILE_SPEC_KEYS.MIN_DEPLOYMENT_TARGET, text)

    @staticmethod
    def min_deployment_target_from_compile_specs(compile_specs: Sequence[CompileSpec]) -> Any:
        """The `coremltools.target`, or None."""
        return settings_of(compile_specs).target

    @staticmethod
    def generate_compute_precision_compile_spec(compute_precision: Any) -> CompileSpec:
        """The spec of a `coremltools.precision`."""
        return make(COMPILE_SPEC_KEYS.MODEL_COMPUTE_PRECISION, _checked(compute_precision, "precision").value)

    @staticmethod
    def model_compute_precision_from_compile_specs(compile_specs: Sequence[CompileSpec]) -> Any:
        """The `coremltools.precision`."""
        return settings_of(compile_specs).precision

    @staticmethod
    def generate_model_type_compile_spec(model_type: ModelType) -> CompileSpec:
        """The spec of a `CoreMLBackend.MODEL_TYPE`."""
        return make(COMPILE_SPEC_KEYS.MODEL_TYPE, specs_module.member(ModelType, model_type, "the model type").value)

    @staticmethod
    def model_type_from_compile_specs(compile_specs: Sequence[CompileSpec]) -> ModelType:
        """The `CoreMLBackend.MODEL_TYPE`."""
        return settings_of(compile_specs).model_type

    @staticmethod
    def generate_op_linear_quantizer_config_compile_spec(op_linear_quantizer_config: dict[str, Any]) -> CompileSpec:
        """The spec of the fields of an `OpLinearQuantizerConfig`, which quantises weights after the conversion."""
        return make(COMPILE_SPEC_KEYS.OP_LINEAR_QUANTIZER_CONFIG, json.dumps(op_linear_quantizer_config))

    @staticmethod
    def op_linear_quantizer_config_from_compile_specs(compile_specs: Sequence[CompileSpec]) -> Any:
        """The configuration for coremltools' weight quantisation, or None."""
        return settings_of(compile_specs).quantizer

    @staticmethod
    def generate_pass_pipeline_compile_spec(pass_names: list[str]) -> CompileSpec:
        """The spec of the names of coremltools' passes."""
        return make(COMPILE_SPEC_KEYS.PASS_PIPELINE, json.dumps(pass_names))

    @staticmethod
    def pass_pipeline_from_compile_specs(compile_specs: Sequence[CompileSpec]) -> Any:
        """The `coremltools.PassPipeline`."""
        return settings_of(compile_specs).passes

    @staticmethod
    def generate_multimethod_weight_sharing_strategy_compile_spec(
        strategy: MULTIMETHOD_WEIGHT_SHARING_STRATEGY,
    ) -> CompileSpec:
        """The spec of how methods share weights."""
        return make(COMPILE_SPEC_KEYS.MULTIMETHOD_WEIGHT_SHARING_STRATEGY, strategy.value)

    @staticmethod
    def multimethod_weight_sharing_strategy_from_compile_specs(
        compile_specs: Sequence[CompileSpec],
    ) -> MULTIMETHOD_WEIGHT_SHARING_STRATEGY:
        """Reads how methods share weights; POSITIONAL without such a spec, although methods then share weights only if
        the deployment target is iOS 18 or later."""
        return settings_of(compile_specs).sharing

    @staticmethod
    def generate_enumerated_shapes_compile_spec(
        ep: ExportedProgram, enumerated_shapes: dict[str, list[list[int]]]
    ) -> CompileSpec:
        """The spec of the shapes that inputs of `ep` may have, by name. A call uses the i-th shapes of all inputs.

        Raises:
            ValueError: the shapes do not fit the program.
        """
        return make(COMPILE_SPEC_KEYS.ENUMERATED_SHAPES, specs_module.shapes_to_text(ep, enumerated_shapes))

    @staticmethod
    def enumerated_shapes_from_compile_specs(
        compile_specs: Sequence[CompileSpec],
    ) -> tuple[EnumeratedShape, ...] | None:
        """The enumerated shapes, or None."""
        return settings_of(compile_specs).enumerated or None

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """The payload of a partition.

        Raises:
            RuntimeError: coremltools cannot convert it, or an option needs something that this SDK lacks.
        """
        settings = settings_of(compile_specs)
        package = _package(edge_program, settings)
        _declare(edge_program, settings)
        inputs, outputs = package.names()
        metadata = {"inputNames": inputs, "outputNames": outputs, "identifier": _identifier(package)}
        return PreprocessResult(_payload(package, metadata), debug_handle_map=_handles(edge_program))

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        """Partition i of each method becomes a function of one model, whose weights are stored once, if the methods
        share weights (`generate_multimethod_weight_sharing_strategy_compile_spec`)."""
        if not _shares(edge_programs, compile_specs):
            return super().preprocess_multimethod(edge_programs, compile_specs)
        results: dict[str, list[PreprocessResult]] = {method: [] for method in edge_programs}
        for position in range(max(len(programs) for programs in edge_programs.values())):
            group = {
                method: programs[position] for method, programs in edge_programs.items() if position < len(programs)
            }
            specs = {method: compile_specs[method][position] for method in group}
            for method, result in _preprocess_group(group, specs).items():
                results[method].append(result)
        return results


def _shares(edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]) -> bool:
    if len([programs for programs in edge_programs.values() if programs]) < 2:
        return False
    asked = set()
    for specs in (specs for lists in compile_specs.values() for specs in lists):
        explicit = specs_module.text_of(specs, COMPILE_SPEC_KEYS.MULTIMETHOD_WEIGHT_SHARING_STRATEGY)
        # A model with several functions needs iOS 18. By default, methods share weights if the specs target iOS 18.
        target = specs_module.target_of(specs)
        default = "positional" if target is not None and target >= coremltools().target.iOS18 else "disabled"
        asked.add(explicit or default)
    if len(asked) > 1:
        raise RuntimeError("the methods have different strategies of sharing weights; give each the same compile spec")
    return asked == {"positional"}


def _preprocess_group(
    group: dict[str, ExportedProgram], specs: dict[str, list[CompileSpec]]
) -> dict[str, PreprocessResult]:
    settings = {method: settings_of(each) for method, each in specs.items()}
    if len(group) == 1:
        return {method: CoreMLBackend.preprocess(program, specs[method]) for method, program in group.items()}
    packages = {method: _package(program, settings[method], shared=True) for method, program in group.items()}
    for method, program in group.items():
        _declare(program, settings[method])
    merged = convert_shared(packages)
    identifier = _identifier(merged)
    methods = {
        method: dict(zip(("inputNames", "outputNames"), package.names(), strict=True))
        for method, package in packages.items()
    }
    folder = _payload(merged, {"identifier": identifier, "methods": methods})
    results = {}
    for method, program in group.items():
        store = NamedDataStore()
        key = f"coreml_{identifier}"
        store.add_named_data(key, folder)
        results[method] = PreprocessResult(
            pack_shared(SharedModel(key, method)),
            debug_handle_map=_handles(program),
            data_store_output=store.get_named_data_store_output(),
        )
    return results


def _package(program: ExportedProgram, settings: Settings, shared: bool = False) -> Package:
    if settings.model_type is ModelType.COMPILED_MODEL:
        raise RuntimeError(
            "MODEL_TYPE.COMPILED_MODEL needs Apple's compiler, which exists on macOS only and which "
            "this SDK does not call: "
            "use MODEL_TYPE.MODEL, which the device compiles once and keeps"
        )
    target = settings.target
    ct = coremltools()
    if target is None:
        target, why = least_target(program, settings)
        if shared and target < ct.target.iOS18:
            target, why = ct.target.iOS18, "methods share its weights"
        logger.info("the deployment target is %s: %s", target.name, why)
    elif shared and target < ct.target.iOS18:
        raise RuntimeError(f"methods share weights, which needs the deployment target iOS18; it is {target.name}")
    return convert(program, settings, target)


def _payload(package: Package, metadata: dict[str, Any]) -> bytes:
    text = json.dumps(metadata, ensure_ascii=False)
    return pack({MODEL_PATHS.METADATA.value: text.encode(), MODEL_PATHS.MODEL.value: package.tree()})


def _identifier(package: Package) -> str:
    """A name for the model, under which a device caches the compiled model."""
    digest = hashlib.sha256(package.spec.SerializeToString(deterministic=True))
    digest.update(package.weights)
    return f"executorch_{digest.hexdigest()[:32]}"


def _handles(program: ExportedProgram) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for node in program.graph.nodes:
        handle = node.meta.get("debug_handle")
        if node.op == "call_function" and handle is not None:
            found[node.name] = (handle,)
    return found


def _declare(program: ExportedProgram, settings: Settings) -> None:
    """Declares where the payload computes or stores float32 values in float16."""
    if settings.precision == coremltools().precision.FLOAT16:
        floats = any(
            isinstance(node.meta.get("val"), torch.Tensor) and node.meta["val"].dtype == torch.float32
            for node in program.graph.nodes
        )
        if floats:
            declare_loss("downcast", "Core ML computes in float16; compute_precision=FLOAT32 keeps float32")
        return
    placeholders = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    inputs = {spec.target: spec.arg.name for spec in program.graph_signature.input_specs}
    for state in program.graph_signature.buffers_to_mutate.values():
        if placeholders[inputs[state]].dtype == torch.float32:
            declare_loss(
                "downcast",
                f"Core ML keeps the state {state} in float16 in any precision; take_over_mutable_buffer=False keeps "
                "float32, outside of Core ML",
            )


def _checked(value: Any, kind: str) -> Any:
    expected = getattr(coremltools(), kind)
    if not isinstance(value, expected):
        raise ValueError(
            f"{value!r} is not a coremltools.{kind}; expected one of {', '.join(m.name for m in expected)}"
        )
    return value
