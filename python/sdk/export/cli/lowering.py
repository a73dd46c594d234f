# SPDX-License-Identifier: BSD-3-Clause
"""Runs the stages of a recipe, shows each as it runs, and explains failures."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from sdk.exir.capture._fast_paths import without_fast_paths
from sdk.export.cli.dynamic import DynamicShapes, resized
from sdk.export.cli.errors import CommandError, user_line, with_type
from sdk.export.cli.model import Model
from sdk.export.cli.progress import Progress
from sdk.export.example_inputs import ExampleInputs
from sdk.export.export import ExportSession
from sdk.export.recipe import ExportRecipe
from sdk.export.types import StageType
from sdk.util.words import counted, readable_bytes

_SHOWN = {
    StageType.SOURCE_TRANSFORM: ("quantise", "torchao"),
    StageType.QUANTIZE: ("quantise", "calibrate"),
    StageType.TORCH_EXPORT: ("capture", "torch.export"),
    StageType.TO_EDGE_TRANSFORM_AND_LOWER: ("lower", "edge dialect"),
    StageType.TO_EDGE: ("edge", "edge dialect"),
    StageType.EDGE_PROGRAM_MANAGER_TRANSFORM: ("passes", "edge dialect"),
    StageType.TO_BACKEND: ("lower", "backends"),
    StageType.TO_EXECUTORCH: ("emit", "plan memory"),
}
"""The name of each stage on the terminal, and a description."""

_FAILED = {
    StageType.SOURCE_TRANSFORM: "The model could not be quantised",
    StageType.QUANTIZE: "The model could not be quantised",
    StageType.TORCH_EXPORT: "PyTorch could not capture the model as a graph",
    StageType.TO_EDGE_TRANSFORM_AND_LOWER: "The model could not be lowered to the edge dialect",
    StageType.TO_EDGE: "The model could not be lowered to the edge dialect",
    StageType.EDGE_PROGRAM_MANAGER_TRANSFORM: "A pass of the recipe failed",
    StageType.TO_BACKEND: "The model could not be lowered to its backends",
    StageType.TO_EXECUTORCH: "The model could not be turned into a program",
}
_BRANCH_ADVICE = "\nWrite a branch that depends on the values in a tensor with torch.cond or torch.where."
_BRANCH = re.compile(r": (el)?if |\bif\b.*\belse\b")
_LOOP_ADVICE = "\nWrite a loop whose length depends on the values in a tensor with torch._higher_order_ops.while_loop."
_LOOP = re.compile(r": (while|for) ")
_FLOAT64_ADVICE = (
    "\nNumPy makes numbers float64: if the model computes in float32, convert the input with .astype(np.float32), or a "
    "tensor with .float()."
)
_LOWERING_ADVICE = "\n--backend portable exports the model without a backend."


def eager(module: torch.nn.Module, calls: Sequence[ExampleInputs], own: bool = False) -> list[Any]:
    """PyTorch's outputs for calls in sequence; each call begins with the state that the last one left. The module and
    the inputs are not changed. PyTorch's fast paths are turned off: that of nn.TransformerEncoder writes zeros at
    masked positions, which captured programs do not do. With `own`, the module is the caller's copy, which may
    change."""
    # A model may change its buffers when it runs, but must be captured with their initial values.
    copied = module if own else copy.deepcopy(module)
    return [_call(copied, inputs) for inputs in calls]


def _call(module: torch.nn.Module, inputs: ExampleInputs) -> Any:
    given = inputs.copy()
    try:
        with torch.no_grad(), without_fast_paths():
            # Copied, because an output may be a buffer, which the next call changes.
            return pytree.tree_map_only(torch.Tensor, torch.clone, module(*given.args, **given.kwargs))
    except Exception as error:
        advice = ""
        if "dtype" in str(error) or "ouble" in str(error):
            doubles = [
                leaf for leaf in inputs.leaves() if isinstance(leaf, torch.Tensor) and leaf.dtype == torch.double
            ]
            advice = _FLOAT64_ADVICE if doubles else ""
        raise CommandError(
            f"The model itself fails in PyTorch with inputs {inputs.describe()}: {_what_and_where(error, 3)}{advice}"
        ) from error


def make_session(
    model: Model,
    inputs: Mapping[str, ExampleInputs],
    dynamic: Mapping[str, DynamicShapes],
    recipe: ExportRecipe,
    calibration: Mapping[str, Sequence[ExampleInputs]] | None = None,
    generate_etrecord: bool = False,
) -> ExportSession:
    """The session that exports `model`. `calibration` has inputs for observers in addition to the example.

    Raises CommandError if the recipe does not fit the model.
    """
    shapes: dict[str, Any] = {}
    samples: dict[str, Sequence[Any]] = {}
    for method in model.methods:
        sample = resized(inputs[method], dynamic[method].capture_sizes(inputs[method])).copy()
        samples[method] = [sample, *(calibration or {}).get(method, ())]
        shapes[method] = dynamic[method].for_torch(sample)
    try:
        return ExportSession(
            dict(model.programs or model.modules),
            samples,
            recipe,
            name=model.name,
            dynamic_shapes=None if all(shape is None for shape in shapes.values()) else shapes,
            generate_etrecord=generate_etrecord,
        )
    except (TypeError, ValueError) as error:
        raise CommandError(f"The recipe does not fit the model: {error}") from error


def run_session(session: ExportSession, progress: Progress) -> None:
    """Runs the stages, and shows a line for each stage of the recipe.

    Raises:
        CommandError: a stage failed, or the stages do not fit together.
    """
    quantization = session._export_recipe.quantization_recipe
    idle = {
        StageType.SOURCE_TRANSFORM: not (quantization and quantization.ao_quantization_configs),
        StageType.QUANTIZE: not (quantization and quantization.quantizers),
    }

    lowering = session._export_recipe.lowering_recipe
    advice = {}
    if lowering is not None and lowering.partitioners:
        advice = dict.fromkeys((StageType.TO_EDGE_TRANSFORM_AND_LOWER, StageType.TO_BACKEND), _LOWERING_ADVICE)

    @contextmanager
    def around(stage_type: StageType) -> Iterator[None]:
        if idle.get(stage_type):
            yield
            return
        with progress.stage(*_SHOWN[stage_type]) as shown:
            with _explained(stage_type, advice.get(stage_type, "")):
                yield
            stage = session.get_registered_stage(stage_type)
            assert stage is not None
            shown.detail = _detail(stage_type, stage.get_artifacts().data, shown.detail)

    try:
        session.export(around)
    except ValueError as error:
        raise CommandError(f"The recipe does not fit the model: {error}") from error


@contextmanager
def _explained(stage_type: StageType, advice: str) -> Iterator[None]:
    # torch prints the graph when it gives up. Its output belongs to the traceback, not to the message.
    printed = io.StringIO()
    capturing = stage_type in (StageType.TORCH_EXPORT, StageType.QUANTIZE)
    try:
        with torch.no_grad():
            if capturing:
                with redirect_stdout(printed), redirect_stderr(printed):
                    yield
            else:
                yield
    except Exception as error:
        what = _what_and_where(error, 8 if capturing else 6)
        if hasattr(error, "calls"):
            advice = ""  # Another backend does not help: edge dialect does not have these calls.
        if type(error).__name__ == "GuardOnDataDependentSymNode":  # torch's advice is for authors of operators
            line = user_line(error) or ""
            advice = _LOOP_ADVICE if _LOOP.search(line) else _BRANCH_ADVICE if _BRANCH.search(line) else advice
        raise CommandError(f"{_FAILED[stage_type]}: {what}{advice}") from error


def _detail(stage_type: StageType, data: Any, planned: str) -> str:
    if stage_type == StageType.TORCH_EXPORT:
        return f"torch.export, {_calls(data.values())}"
    if stage_type == StageType.TO_EXECUTORCH:
        plans = data.executorch_program.execution_plan
        instructions = sum(len(chain.instructions) for plan in plans for chain in plan.chains)
        arena = sum(size for plan in plans for size in plan.non_const_buffer_sizes[1:])
        return f"{counted(instructions, 'instruction')}, {readable_bytes(arena)} of planned memory"
    if not hasattr(data, "methods"):
        return planned
    return f"{planned}, {_calls(data.exported_program(name) for name in data.methods)}"


def _calls(programs: Any) -> str:
    return counted(sum(operator_calls(program) for program in programs), "operator call")


def operator_calls(program: ExportedProgram) -> int:
    """The number of calls of operators in the graph."""
    return sum(node.op == "call_function" for node in program.graph.nodes)


def _what_and_where(error: Exception, lines: int = 6) -> str:
    line = user_line(error)
    at = f"\n  {line}" if line else ""
    return f"{with_type(error, lines)}{at}"
