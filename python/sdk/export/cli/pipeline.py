# SPDX-License-Identifier: BSD-3-Clause
"""One call of the command, in order: load, run in eager mode, export, write, verify."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from sdk.backends.registry import PORTABLE
from sdk.devtools.report import Loss, LossKind, Receipt, calls_without_kernels
from sdk.devtools.report.export_report import report, write_report
from sdk.devtools.report.export_result import Comparison, ExportResult, OutputError, Timing
from sdk.devtools.report.facts import program_facts
from sdk.devtools.report.summary import show_summary
from sdk.export.cli.arguments import Options
from sdk.export.cli.backends import scheme, settled
from sdk.export.cli.dynamic import DynamicShapes
from sdk.export.cli.equal_values import stable_answers
from sdk.export.cli.errors import CommandError
from sdk.export.cli.files import check_writable, publish, temporary_beside, write_program
from sdk.export.cli.inputs import example_inputs, method_of
from sdk.export.cli.lowering import make_session, run_session
from sdk.export.cli.model import Model, load_model
from sdk.export.cli.progress import Progress
from sdk.export.cli.quantize import TOLERANCE, accuracies, calibration_inputs, float16_tolerance
from sdk.export.cli.quiet import quiet
from sdk.export.cli.recipes import recipe_of
from sdk.export.cli.references import CALLS, EXAMPLE, STATE, Reference, quantized, random_calls, references
from sdk.export.cli.rounding import rounding
from sdk.export.cli.timing import timing
from sdk.export.cli.verify import NothingRunsItError, WrittenProgram, compare, runner_for
from sdk.export.cli.wrapper import wrapper_files, wrappers
from sdk.export.example_inputs import ExampleInputs
from sdk.export.recipe import ExportRecipe
from sdk.util.words import counted, readable_bytes, relative


@dataclass
class _Made:
    """The result of the export in memory, before anything is written."""

    options: Options  # as given, with the default backend
    result: ExportResult
    references: list[Reference]
    dynamic: dict[str, DynamicShapes]
    captured: Mapping[str, ExportedProgram]  # by method, in the dtype of the recipe
    manager: Any
    kind: str | None  # what costs accuracy: a scheme of --quantize, or float16


def run(options: Options) -> ExportResult:
    """Exports, verifies, writes, and shows the summary. Raises CommandError; no files are written then."""
    progress = Progress()
    notes: list[str] = []
    warnings: list[str] = []
    try:
        with quiet(options.verbose, notes, warnings):
            made = _export(options, progress, notes)
            result = made.result
            result.warnings = warnings
            with temporary_beside(result.output) as folder:
                _finish(made, progress, folder)
    except CommandError as error:
        if not warnings:
            raise
        listed = "\n".join(f"  - {warning}" for warning in warnings)
        raise CommandError(f"{error}\nThere were warnings before:\n{listed}") from error.__cause__
    try:
        if options.json:
            print(json.dumps(report(result), indent=2))
        else:
            show_summary(result, sys.stdout)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"`{result.output}` is complete") from None
    return result


def _export(options: Options, progress: Progress, notes: list[str]) -> _Made:
    """The part of the work in memory. Returns the result so far, PyTorch's outputs and the emitted program."""
    options = settled(options, notes)
    with progress.stage("load", options.model) as stage:
        model = load_model(options.model, options.methods)
        inputs = example_inputs(model, options.inputs, options.inputs_file)
        dynamic = dynamic_shapes(model, inputs, options)
        output = options.output or Path(f"{model.name}.pte")
        if output.suffix != ".pte":
            raise CommandError(f"--output {output}: the name of a program ends in .pte.")
        check_writable([output, *wrapper_files(options, output), *([options.report] if options.report else [])])
        kind = scheme(options.quantize, options.backends) if options.quantize else None
        calibration = calibration_inputs(options, kind, model) if kind else None
        recipe = recipe_of(
            options.recipe,
            kind,
            options.backends,
            output.stem if options.external_weights else None,
            options.dtype,
        )
        stage.detail = f"{options.model} with {describe_inputs(inputs)}"
    found: list[Reference] = []
    if options.verify:
        with progress.stage("eager", "run the model in PyTorch") as stage:
            for method, module in model.modules.items():
                specs = [spec for spec in options.inputs if spec.method in (None, method)]
                found += references(module, method, inputs[method], dynamic[method], specs, notes)
            stage.detail = f"PyTorch's answer for {counted(len(found), 'set')} of inputs"
    session = make_session(model, inputs, dynamic, recipe, calibration)
    run_session(session, progress)
    programs = {method: session.get_exported_program(method) for method in model.methods}
    if options.quantize:
        found = quantized(found, programs, notes)
        if kind is not None and kind.calibrated and options.calibrate is None:
            notes.append(
                f"The ranges of {options.quantize} are those of the example inputs; --calibrate takes inputs like your "
                f"own."
            )
    manager = session.get_executorch_program_manager()
    result = ExportResult(
        model=options.model,
        inputs=describe_inputs(inputs),
        dynamic=[str(wanted) for shapes in dynamic.values() for wanted in shapes.ranges.values()],
        output=output,
        recipe=recipe.name,
        backends=list(options.backends),
        offered=_offered(options, recipe),
        verify=options.verify,
        facts=program_facts(manager.executorch_program),
        receipt=session.get_receipt(),
        stages=progress.stages,
        notes=notes,
    )
    _refuse_missing_kernels(options, result.receipt, manager)
    notes += [str(loss) for loss in _lost(options, result.receipt)]
    if not result.receipt.kernels_checked:
        notes.append(
            "Whether every operator has a kernel was not checked, because this package was installed without its "
            "runtime."
        )
    _refuse_losses(options, result)
    computed = options.quantize or ("float16" if recipe.dtype == torch.float16 else None)
    return _Made(options, result, found, dynamic, programs, manager, computed)


def _offered(options: Options, recipe: ExportRecipe) -> list[str] | None:
    """Returns the targets of lowering: the backends, or the recipe. None if there was no partitioner."""
    lowering = recipe.lowering_recipe
    if not (lowering and lowering.partitioners):
        return None
    backends = [backend for backend in options.backends if backend != PORTABLE]
    return backends or [name for name in [options.recipe] if name]


def _lost(options: Options, receipt: Receipt) -> list[Loss]:
    """The losses to report. If `--backend portable` is named beside another backend, operators that run on portable
    kernels are not losses."""
    backends = options.backends
    expected = options.recipe is None and len(backends) > 1 and PORTABLE in backends
    return [loss for loss in receipt.losses if not (expected and loss.kind == LossKind.FALLBACK)]


def describe_inputs(inputs: Mapping[str, ExampleInputs]) -> str:
    """`float32[1, 8]`, or with several methods `encode: float32[1, 8]; decode: float32[1, 4]`."""
    if len(inputs) == 1:
        return next(iter(inputs.values())).describe()
    return "; ".join(f"{method}: {given.describe()}" for method, given in inputs.items())


def _refuse_missing_kernels(options: Options, receipt: Receipt, manager: Any) -> None:
    """Verification needs kernels. An error names all operators without one, with the model's lines."""
    missing = [loss for loss in receipt.losses if loss.kind == LossKind.MISSING_KERNEL]
    if not missing or not options.verify:
        return
    lines = [f"  - {line}".replace("\n", "\n    ") for line in calls_without_kernels(manager)]
    raise CommandError(
        "The runtime has no kernel for these operators, and would refuse to load the program:\n"
        + "\n".join(lines)
        + "\nNothing was written. Register a kernel for each (docs/kernel_registration.md) and load its library "
        "before the export, decompose the operator, or give it to a backend. --no-verify writes the program for a "
        "runtime that has the kernels."
    )


def _refuse_losses(options: Options, result: ExportResult) -> None:
    if options.strict and result.notes:
        listed = "\n".join(f"  - {note}" for note in result.notes)
        raise CommandError(f"--strict refuses these notes:\n{listed}\nNothing was written.")


def _finish(made: _Made, progress: Progress, folder: Path) -> None:
    """The part of the work on files: writes to `folder`, runs the program, and only then moves the files."""
    options, result, output = made.options, made.result, made.result.output
    with progress.stage("write", str(output)) as stage:
        program = folder / output.name
        weights = write_program(made.manager, program)
        result.program_bytes = program.stat().st_size
        if weights is not None:
            result.weights = output.with_name(weights.name)
            result.weights_file_bytes = weights.stat().st_size
        stage.detail = f"{output}, {readable_bytes(result.program_bytes + result.weights_file_bytes)}"
    if options.verify:
        try:
            runner = runner_for(id for method in result.facts.methods for id in method.delegates)
        except NothingRunsItError as error:
            result.unverified = f"nothing here runs {error}"
            result.notes.append(
                f"The program was not verified: neither the installed runtime nor a declared runner runs {error}."
            )
        else:
            load = partial(WrittenProgram, program, weights, runner)
            if runner is not None and runner.runner_note:
                result.notes.append(f"The program was verified by {runner.runner_note}.")
            with progress.stage("verify", "run the program") as stage:
                _verify_all(made, load, None if runner is None else runner.tolerance)
                # The time of a runner says nothing about the device.
                result.timings = [] if runner is not None else _timings(made.references, load)
                calls = counted(sum(comparison.calls for comparison in result.comparisons), "call")
                compared = any(comparison.compared for comparison in result.comparisons)
                agrees = f"the program agrees with PyTorch in {calls}"
                stage.detail = agrees if compared else f"{calls}, nothing to compare"
    _refuse_losses(options, result)
    files: dict[Path, Path] = {}
    if options.report is not None:
        report = folder / f"report{options.report.suffix}"
        write_report(result, report)
        files[report] = options.report
    for number, (file, text) in enumerate(
        wrappers(options, output, made.dynamic, made.manager.executorch_program, program, weights).items()
    ):
        written = folder / f"wrapper{number}"
        written.write_text(text, encoding="utf-8")
        files[written] = file
    # Move the program last, so that when it exists the files that it needs do, too.
    if weights is not None and result.weights is not None:
        files[weights] = result.weights
    publish({**files, program: output})


def dynamic_shapes(model: Model, inputs: Mapping[str, ExampleInputs], options: Options) -> dict[str, DynamicShapes]:
    """The dynamic dimensions that were named, for each method. Raises CommandError for one that no method has."""
    if model.programs and options.dynamic:
        raise CommandError("A .pt2 file has its shapes already; make them dynamic where it is made.")
    wanted: dict[str, list[Any]] = {method: [] for method in model.methods}
    for dim in options.dynamic:
        wanted[method_of(model.methods, dim.method, f"--dynamic {dim}")].append(dim)
    return {method: DynamicShapes(model.modules[method], inputs[method], dims) for method, dims in wanted.items()}


def _verify_all(made: _Made, load: Callable[[], WrittenProgram], default: float | None) -> None:
    """`default` is the tolerance of the runner."""
    result = made.result
    # Loaded again for each reference: a program with state starts from its initial values, as eager mode did.
    result.comparisons = [_verify(load, reference, made, default) for reference in made.references]
    for comparison in result.comparisons:
        for output in comparison.outputs:
            if output.elements and not output.compared:
                result.notes.append(
                    f"Nothing of output {output.index} of {comparison.method} was compared ({comparison.label}): all "
                    f"its elements are NaN or infinite in PyTorch, too. Give inputs for which the model computes "
                    f"numbers."
                )
    for reference in made.references:
        if made.kind is not None and reference.label == EXAMPLE:
            program = load()
            outputs = [program.run(reference.method, inputs.copy()) for inputs in reference.calls]
            result.accuracies += accuracies(made.kind, reference.unquantized or reference.answers, outputs)


def _timings(found: list[Reference], load: Callable[[], WrittenProgram]) -> list[Timing]:
    timings = [
        timing(reference.method, reference.module, reference.calls[0], load())
        for reference in found
        if reference.label == EXAMPLE
    ]
    return [timed for timed in timings if timed is not None]


def _verify(load: Callable[[], WrittenProgram], reference: Reference, made: _Made, default: float | None) -> Comparison:
    tolerance = made.options.tolerance
    if tolerance is None:
        tolerance = TOLERANCE if made.options.quantize else default
        if made.kind == "float16":
            tolerance = max(float16_tolerance(made.captured[reference.method]), default or 0.0)
    comparison = _compared(load(), reference, tolerance)
    worst = comparison.worst
    if worst is not None and not worst.within:
        answers, operators = stable_answers(reference.module, reference.calls)
        if operators:
            label = f"{reference.label}, {', '.join(operators)} stable"
            stable = _compared(load(), replace(reference, answers=answers, label=label), tolerance)
            if stable.worst is not None and stable.worst.within:
                return stable
        which = f"{reference.label}: {comparison.inputs}; call {worst.call} of {comparison.calls}"
        raise CommandError(
            f"The program's answer differs from PyTorch's ({which}). Output {worst.index} of {reference.method}, "
            f"{worst.type}: the largest difference is {worst.max_abs:.3g}, {relative(worst.max_abs, worst.max_rel)}, "
            f"and {worst.tolerance:g} is allowed. Nothing was written. {_cause(reference, made, worst, tolerance)}"
        )
    return comparison


def _compared(program: WrittenProgram, reference: Reference, tolerance: float | None) -> Comparison:
    return compare(
        reference.label,
        reference.method,
        reference.calls,
        reference.answers,
        program,
        tolerance,
        lambda: rounding(reference.module, reference.calls, reference.answers),
    )


def _cause(reference: Reference, made: _Made, worst: OutputError, tolerance: float | None) -> str:
    """Why the outputs differ, if the reason can be found, and what to do."""
    if reference.varies(tolerance):
        drawn = ", ".join(random_calls(made.captured.get(reference.method)))
        return (
            "PyTorch's result differs when it runs the model again, because the model draws random numbers"
            + (f": {drawn}" if drawn else ", reads memory that nothing has written, a global variable or the time")
            + ". Make them an input of the model, or write the program with --no-verify."
        )
    if made.kind == "float16":
        return (
            "float16 keeps 11 bits of each intermediate result, up to 65504, and this model needs more: export it with "
            "--dtype float32. If the difference is expected, allow it with --tolerance."
        )
    if worst.call == CALLS and reference.label == EXAMPLE:
        return (
            "The calls before agree, and this one has other values: the program has the example's values in place of "
            f"the inputs, or it does not keep what the model changes. {STATE}"
        )
    if worst.call > 1 and reference.label == EXAMPLE:
        return f"The calls before agree, so the program does not keep what the model changes. {STATE}"
    return "If the difference is expected, allow it with --tolerance, or look at the program with --no-verify."
