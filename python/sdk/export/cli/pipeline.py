# SPDX-License-Identifier: BSD-3-Clause
"""The stages of an export, in order: load, capture, lower, emit, write, verify."""

from __future__ import annotations

import copy
import errno
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from sdk.export.cli.arguments import Options
from sdk.export.cli.backends import partitioners
from sdk.export.cli.dynamic import DynamicShapes, resized
from sdk.export.cli.errors import CommandError, first_lines, user_line
from sdk.export.cli.facts import ProgramFacts, program_facts
from sdk.export.cli.inputs import Inputs, example_inputs
from sdk.export.cli.model import Model, load_model
from sdk.export.cli.progress import Progress, Stage, counted, readable_bytes
from sdk.export.cli.verify import Comparison, WrittenProgram, compare

_VERIFY_BYTES = 256_000_000  # inputs larger than this are not made only to verify the largest sizes


@dataclass
class Result:
    """Everything the summary and the report speak of."""

    options: Options
    model: Model
    inputs: Inputs
    output: Path
    weights: Path | None
    facts: ProgramFacts
    program_bytes: int
    weights_file_bytes: int
    dynamic: DynamicShapes
    stages: list[Stage]
    comparisons: list[Comparison] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def run(options: Options) -> Result:
    """Exports, verifies, writes, and shows the summary. Raises CommandError; then nothing is left behind."""
    # Imported late: they are not needed by those who call a stage alone.
    from sdk.export.cli.report import write_report
    from sdk.export.cli.summary import show_summary

    progress = Progress()
    notes: list[str] = []
    with _quiet(options.verbose, notes):
        with progress.stage("load", options.model) as stage:
            model = load_model(options.model)
            inputs = example_inputs(model, options.inputs, options.inputs_file)
            dynamic = DynamicShapes(model.module, inputs, options.dynamic)
            output = options.output or Path(f"{model.name}.pte")
            _check_writable(output, options.report)
            if model.was_training:
                notes.append("The model was in training mode; it was exported in eval mode.")
            stage.detail = f"{options.model} with {inputs.describe()}"
        with progress.stage("eager", "run the model in PyTorch") as stage:
            references = _references(model, inputs, dynamic, notes) if options.verify else []
            stage.detail = (
                f"PyTorch's answer for {counted(len(references), 'set')} of inputs" if references else "not asked for"
            )
        with progress.stage("capture", "torch.export") as stage:
            captured = _capture(model, inputs, dynamic)
            stage.detail = f"torch.export: {counted(_calls(captured), 'operator')}"
        with progress.stage("lower", "edge dialect") as stage:
            edge = _lower(captured, options)
            left = counted(_calls(edge.exported_program()), "operator")
            stage.detail = f"edge dialect: {left} after {', '.join(options.backends)}"
        with progress.stage("emit", "plan memory") as stage:
            manager = _emit(edge, options, output)
            facts = program_facts(manager.executorch_program)
            arena = readable_bytes(sum(method.arena_bytes for method in facts.methods))
            stage.detail = f"{counted(sum(m.instructions for m in facts.methods), 'instruction')}, {arena} planned"
        with _temporary_beside(output) as folder:
            with progress.stage("write", str(output)) as stage:
                program_file, weights_file = _write(manager, folder, output)
                stage.detail = f"{output}, {readable_bytes(program_file.stat().st_size)}"
            comparisons: list[Comparison] = []
            if options.verify:
                with progress.stage("verify", "run the program") as stage:
                    comparisons = _verify(program_file, weights_file, references, options)
                    stage.detail = f"{counted(len(comparisons), 'run')} in the runtime agree with PyTorch"
            if options.strict and notes:
                listed = "\n".join(f"  - {note}" for note in notes)
                raise CommandError(f"--strict: the exporter has something to say, so nothing was written:\n{listed}")
            result = Result(
                options, model, inputs, output, None, facts, program_file.stat().st_size, 0, dynamic, progress.stages,
                comparisons, notes,
            )  # fmt: skip
            if weights_file is not None:
                result.weights = output.with_name(weights_file.name)
                result.weights_file_bytes = weights_file.stat().st_size
            if options.report is not None:
                write_report(result, folder / options.report.name)
            _publish(folder, output, weights_file, options.report)
    show_summary(result, sys.stdout)
    return result


@contextmanager
def _quiet(verbose: bool, notes: list[str]) -> Iterator[None]:
    """Keeps torch's own chatter out of the way, and collects what this package warns about."""
    with warnings.catch_warnings(record=not verbose) as caught:
        if verbose:
            yield
            return
        warnings.simplefilter("always")
        loggers = [
            logging.getLogger("torch"),
            *(logging.getLogger(f"torch.{part}") for part in ("_dynamo", "export", "fx")),
        ]
        levels = [logger.level for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        ours = str(Path(__file__).parents[2])
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            for warning in caught or []:
                text = str(warning.message)
                if warning.filename.startswith(ours) and text not in notes:
                    notes.append(text)


def _references(
    model: Model, inputs: Inputs, dynamic: DynamicShapes, notes: list[str]
) -> list[tuple[str, Inputs, Any]]:
    """(label, inputs, what PyTorch gives) for the example and for both ends of the dynamic sizes."""
    references = [("example", inputs, _eager(model, inputs))]
    for label, sizes in dynamic.ends():
        other = resized(inputs, sizes, limit=_VERIFY_BYTES)
        if other is None:
            notes.append(
                f"The {label} were not verified: their inputs would take more than {readable_bytes(_VERIFY_BYTES)}."
            )
            continue
        try:
            references.append((label, other, _eager(model, other)))
        except CommandError as error:
            raise CommandError(f"The model does not take the {label} that --dynamic promises. {error}") from error
    return references


def _eager(model: Model, inputs: Inputs) -> Any:
    # A model may change its buffers when it runs; the one that is captured must be as it was given.
    module = copy.deepcopy(model.module)
    given = inputs.copy()
    try:
        with torch.no_grad():
            return module(*given.args, **given.kwargs)
    except Exception as error:
        line = user_line(error)
        at = f"\n  {line}" if line else ""
        raise CommandError(
            f"The model itself fails in PyTorch with inputs {inputs.describe()}: {type(error).__name__}: "
            f"{first_lines(error, 3)}{at}"
        ) from error


def _capture(model: Model, inputs: Inputs, dynamic: DynamicShapes) -> ExportedProgram:
    if model.program is not None:
        if dynamic.ranges:
            raise CommandError(
                "A .pt2 file was captured with its shapes; say --dynamic where it is made (torch.export.export)."
            )
        return model.program
    sample = resized(inputs, dynamic.capture_sizes(inputs)) or inputs
    sample = sample.copy()
    try:
        with torch.no_grad():
            return torch.export.export(
                model.module, sample.args, sample.kwargs, dynamic_shapes=dynamic.for_torch(sample), strict=False
            )
    except Exception as error:
        line = user_line(error)
        at = f"\n  {line}\n" if line else "\n"
        raise CommandError(
            f"PyTorch could not capture the model as a graph:{at}{type(error).__name__}: {first_lines(error, 8)}\n"
            f"Code whose path depends on the values in a tensor cannot be captured; torch.cond, torch.where and "
            f"torch._check are "
            f"the ways to say it."
        ) from error


def _lower(captured: ExportedProgram, options: Options) -> Any:
    from sdk.exir import to_edge_transform_and_lower

    try:
        return to_edge_transform_and_lower(captured, partitioner=partitioners(options.backends))
    except Exception as error:
        raise _stage_failure("could not be lowered to the edge dialect", error) from error


def _emit(edge: Any, options: Options, output: Path) -> Any:
    from sdk.exir import ExecutorchBackendConfig

    stem = output.stem
    config = ExecutorchBackendConfig(external_constants=(lambda _: stem) if options.external_weights else False)
    try:
        return edge.to_executorch(config)
    except Exception as error:
        raise _stage_failure("could not be turned into a program", error) from error


def _stage_failure(what: str, error: Exception) -> CommandError:
    line = user_line(error)
    at = f"\n  {line}" if line else ""
    return CommandError(f"The captured model {what}: {type(error).__name__}: {first_lines(error)}{at}")


def _check_writable(output: Path, report: Path | None) -> None:
    """Fails now, not after minutes of work."""
    if output.suffix != ".pte":
        raise CommandError(f"--output {output}: a program's file ends in .pte.")
    for path in (output, *([report] if report is not None else [])):
        folder = path.resolve().parent
        if path.is_dir():
            raise CommandError(f"`{path}` is a folder; name a file to write.")
        if not folder.is_dir():
            raise CommandError(f"`{path}` cannot be written: there is no folder `{path.parent}`. Create it first.")
        if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            raise CommandError(f"`{path}` cannot be written: you have no permission to write there.")


@contextmanager
def _temporary_beside(output: Path) -> Iterator[Path]:
    """A folder on the same file system as `output`, so that what is complete in it can be renamed into place."""
    try:
        with tempfile.TemporaryDirectory(prefix=f".{output.stem}-", dir=output.resolve().parent) as folder:
            yield Path(folder)
    except OSError as error:
        raise _write_failure(output, error) from error


def _write(manager: Any, folder: Path, output: Path) -> tuple[Path, Path | None]:
    program = folder / output.name
    try:
        with program.open("wb") as file:
            manager.write_to_file(file)
        manager.write_tensor_data_to_file(str(folder))
    except OSError as error:
        raise _write_failure(output, error) from error
    weights = sorted(folder.glob("*.ptd"))
    return program, weights[0] if weights else None


def _write_failure(path: Path, error: OSError) -> CommandError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CommandError(
            f"`{path}` could not be written: the disk is full. Nothing was left behind; free some space and try again."
        )
    return CommandError(f"`{path}` could not be written: {error.strerror or error}. Nothing was left behind.")


def _verify(
    program_file: Path, weights_file: Path | None, references: list[tuple[str, Inputs, Any]], options: Options
) -> list[Comparison]:
    comparisons = []
    for label, inputs, eager in references:
        # Loaded anew for each: a program with state starts from its initial values, as eager did.
        program = WrittenProgram(program_file, weights_file)
        comparison = compare(label, inputs, eager, program, options.tolerance)
        comparisons.append(comparison)
        wrong = [output for output in comparison.outputs if not output.within]
        if wrong:
            worst = max(wrong, key=lambda output: output.max_rel)
            raise CommandError(
                f"The program's answer differs from PyTorch's ({label}: {comparison.inputs}). Output {worst.index}, "
                f"{worst.type}: "
                f"the largest difference is {worst.max_abs:.3g}, {worst.max_rel:.3g} of the output's largest value, "
                f"and "
                f"{worst.tolerance:g} is allowed. Nothing was written. If the difference is expected, allow it with "
                f"--tolerance, "
                f"or look at the program with --no-verify."
            )
    return comparisons


def _publish(folder: Path, output: Path, weights: Path | None, report: Path | None) -> None:
    """Renames the complete files into place, the program last: where it stands, everything it needs stands."""
    try:
        if weights is not None:
            weights.replace(output.with_name(weights.name))
        if report is not None:
            # The report may belong on another file system, where a rename cannot reach.
            report.write_bytes((folder / report.name).read_bytes())
        (folder / output.name).replace(output)
    except OSError as error:
        raise _write_failure(output, error) from error


def _calls(program: ExportedProgram) -> int:
    return sum(node.op == "call_function" for node in program.graph.nodes)
