# SPDX-License-Identifier: BSD-3-Clause
"""The stages of an export, in order: load, eager, capture, lower, emit, write, verify."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdk.export.cli.arguments import Options
from sdk.export.cli.dynamic import DynamicShapes, resized, resized_bytes
from sdk.export.cli.errors import CommandError
from sdk.export.cli.facts import ProgramFacts, program_facts
from sdk.export.cli.files import check_writable, publish, temporary_beside, write_program
from sdk.export.cli.inputs import Inputs, example_inputs
from sdk.export.cli.lowering import capture, eager, emit, lower, operator_calls
from sdk.export.cli.model import Model, load_model
from sdk.export.cli.progress import Progress, Stage, counted, readable_bytes
from sdk.export.cli.quiet import quiet
from sdk.export.cli.report import write_report
from sdk.export.cli.summary import show_summary
from sdk.export.cli.verify import Comparison, WrittenProgram, compare

_LARGEST_INPUTS = 256_000_000  # bytes; inputs larger than this are not made only to verify the largest sizes


@dataclass(frozen=True)
class Reference:
    """What PyTorch gives for one set of inputs."""

    label: str
    inputs: Inputs
    answer: Any


@dataclass
class Result:
    """Everything the summary and the report speak of."""

    options: Options
    model: str
    inputs: Inputs
    output: Path
    dynamic: DynamicShapes
    facts: ProgramFacts
    stages: list[Stage]
    notes: list[str]
    program_bytes: int = 0
    weights: Path | None = None
    weights_file_bytes: int = 0
    comparisons: list[Comparison] = field(default_factory=list)


def run(options: Options) -> Result:
    """Exports, verifies, writes, and shows the summary. Raises CommandError; then nothing is left behind."""
    progress = Progress()
    notes: list[str] = []
    with quiet(options.verbose, notes):
        result, references, manager = _export(options, progress, notes)
        with temporary_beside(result.output) as folder:
            _finish(result, references, manager, progress, folder)
    show_summary(result, sys.stdout)
    return result


def _export(options: Options, progress: Progress, notes: list[str]) -> tuple[Result, list[Reference], Any]:
    """Everything that happens in memory: the result so far, PyTorch's answers and the emitted program."""
    with progress.stage("load", options.model) as stage:
        model = load_model(options.model)
        inputs = example_inputs(model, options.inputs, options.inputs_file)
        dynamic = DynamicShapes(model.module, inputs, options.dynamic)
        output = options.output or Path(f"{model.name}.pte")
        if output.suffix != ".pte":
            raise CommandError(f"--output {output}: the name of a program ends in .pte.")
        check_writable([output] if options.report is None else [output, options.report])
        stage.detail = f"{options.model} with {inputs.describe()}"
    references: list[Reference] = []
    if options.verify:
        with progress.stage("eager", "run the model in PyTorch") as stage:
            references = _references(model, inputs, dynamic, notes)
            stage.detail = f"PyTorch's answer for {counted(len(references), 'set')} of inputs"
    with progress.stage("capture", "torch.export") as stage:
        captured = capture(model, inputs, dynamic)
        stage.detail = f"torch.export, {counted(operator_calls(captured), 'operator call')}"
    with progress.stage("lower", "edge dialect") as stage:
        edge = lower(captured, options.backends)
        left = sum(operator_calls(edge.exported_program(name)) for name in edge.methods)
        stage.detail = f"edge dialect, {counted(left, 'operator call')}"
    with progress.stage("emit", "plan memory") as stage:
        manager = emit(edge, output.stem if options.external_weights else None)
        facts = program_facts(manager.executorch_program)
        instructions = counted(sum(method.instructions for method in facts.methods), "instruction")
        arena = readable_bytes(sum(method.arena_bytes for method in facts.methods))
        stage.detail = f"{instructions}, {arena} of planned memory"
    result = Result(options, options.model, inputs, output, dynamic, facts, progress.stages, notes)
    return result, references, manager


def _finish(result: Result, references: list[Reference], manager: Any, progress: Progress, folder: Path) -> None:
    """Everything that happens in files: written to `folder`, run, and only then moved into place."""
    options, output = result.options, result.output
    with progress.stage("write", str(output)) as stage:
        program = folder / output.name
        weights = write_program(manager, program)
        result.program_bytes = program.stat().st_size
        if weights is not None:
            result.weights = output.with_name(weights.name)
            result.weights_file_bytes = weights.stat().st_size
        stage.detail = f"{output}, {readable_bytes(result.program_bytes + result.weights_file_bytes)}"
    if options.verify:
        with progress.stage("verify", "run the program") as stage:
            result.comparisons = [_verify(program, weights, reference, options) for reference in references]
            stage.detail = f"the runtime agrees with PyTorch in {counted(len(references), 'run')}"
    if options.strict and result.notes:
        listed = "\n".join(f"  - {note}" for note in result.notes)
        raise CommandError(f"With --strict nothing may be left to say, and there is:\n{listed}\nNothing was written.")
    if options.report is not None:
        report = folder / f"report{options.report.suffix}"
        write_report(result, report)
        publish(report, options.report)
    # The program last: where it stands, everything it needs stands.
    if weights is not None and result.weights is not None:
        publish(weights, result.weights)
    publish(program, output)


def _references(model: Model, inputs: Inputs, dynamic: DynamicShapes, notes: list[str]) -> list[Reference]:
    """PyTorch's answers for the example and for both ends of the dynamic sizes."""
    references = [Reference("example", inputs, eager(model, inputs))]
    for label, sizes in dynamic.ends():
        if resized_bytes(inputs, sizes) > _LARGEST_INPUTS:
            limit = readable_bytes(_LARGEST_INPUTS)
            notes.append(f"The {label} were not verified: their inputs would take more than {limit}.")
            continue
        other = resized(inputs, sizes)
        try:
            references.append(Reference(label, other, eager(model, other)))
        except CommandError as error:
            raise CommandError(f"The model does not take the {label} that --dynamic promises. {error}") from error
    return references


def _verify(program_file: Path, weights_file: Path | None, reference: Reference, options: Options) -> Comparison:
    # Loaded anew for each: a program with state starts from its initial values, as eager did.
    program = WrittenProgram(program_file, weights_file)
    comparison = compare(reference.label, reference.inputs, reference.answer, program, options.tolerance)
    worst = comparison.worst
    if worst is not None and not worst.within:
        raise CommandError(
            f"The program's answer differs from PyTorch's ({reference.label}: {comparison.inputs}). Output "
            f"{worst.index}, {worst.type}: the largest difference is {worst.max_abs:.3g}, {worst.max_rel:.3g} of the "
            f"output's largest value, and {worst.tolerance:g} is allowed. Nothing was written. If the difference is "
            f"expected, allow it with --tolerance, or look at the program with --no-verify."
        )
    return comparison
