# SPDX-License-Identifier: BSD-3-Clause
"""Reads the ETRecord of a program, or exports the model again to make one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdk.backends.registry import PORTABLE, backend_of_id
from sdk.debug.program import DebuggedProgram, calls_of, difference
from sdk.devtools.etrecord import ETRecord, parse_etrecord
from sdk.devtools.inspector._matching import DELEGATE_CALL, OPERATOR_CALL, instructions_problem
from sdk.export.cli import arguments
from sdk.export.cli.backends import scheme
from sdk.export.cli.errors import CommandError
from sdk.export.cli.inputs import example_inputs
from sdk.export.cli.lowering import make_session, run_session
from sdk.export.cli.model import Model, load_model
from sdk.export.cli.pipeline import dynamic_shapes
from sdk.export.cli.progress import Progress
from sdk.export.cli.quantize import calibration_inputs
from sdk.export.cli.quiet import quiet
from sdk.export.cli.recipes import recipe_of


def record_of(path: Path, program: DebuggedProgram, method: str) -> ETRecord:
    """Reads an ETRecord. Raises ValueError if it belongs to another program, RuntimeError if it is damaged."""
    record = parse_etrecord(path)
    events = [
        (index, DELEGATE_CALL if call.startswith("delegate ") else OPERATOR_CALL, None)
        for index, call in enumerate(program.calls(method))
        if "Call" not in call
    ]
    problem = instructions_problem(record, method, events)
    if problem is not None:
        raise ValueError(
            f"'{path}' is the ETRecord of another program than '{program.path}': {problem}. Pass the one that was "
            "saved when this program was exported"
        )
    return record


def rebuild(
    program: DebuggedProgram, model: str, export_arguments: Sequence[str], method: str, inputs: Path | None
) -> tuple[ETRecord, Model]:
    """Exports the model again with the arguments of `python -m sdk.export`, and keeps the ETRecord.

    If no argument chooses how to lower, the model is lowered to the backends of the program's delegates; if neither an
    argument nor the model's file has inputs, those in the file `inputs` are taken.

    Raises:
        CommandError: The model cannot be exported, or its program calls other operators.
    """
    given = list(export_arguments)
    if not any(argument.partition("=")[0] in ("--backend", "--recipe", "--quantize") for argument in given):
        for name in _backends(program):
            given += ["--backend", name]
    options = arguments.parse([model, *given, "--no-verify"], "sdk debug: the arguments of sdk.export")
    with quiet(options.verbose, [], []):
        loaded, session = _session(options, inputs)
        run_session(session, Progress())
    manager = session.get_executorch_program_manager()
    plans = {plan.name: plan for plan in manager.executorch_program.execution_plan}
    if method not in plans:
        raise CommandError(f"`{model}` has no method `{method}`, it has {', '.join(sorted(plans))}.")
    problem = difference(program.calls(method), calls_of(plans[method]))
    if problem is not None:
        raise CommandError(
            f"Exporting {model} again gives another program than '{program.path}': {problem}. Pass --etrecord with the "
            f"ETRecord that was saved when the program was exported, or after `--` the arguments that sdk.export was "
            f"given then (for example -- --quantize int8)."
        )
    return session.get_etrecord(), loaded


def _session(options: arguments.Options, compared: Path | None) -> tuple[Model, Any]:
    """Exports the model. Without inputs in an argument or in the model, the inputs in the file `compared` are used."""
    model = load_model(options.model, options.methods)
    try:
        inputs = example_inputs(model, options.inputs, options.inputs_file)
    except CommandError as error:
        if options.inputs or options.inputs_file is not None or model.example_inputs is not None:
            raise
        if compared is None:
            raise CommandError(f"{error} The arguments of sdk.export follow `--` here.") from error
        inputs = example_inputs(model, (), compared)
    kind = scheme(options.quantize, options.backends) if options.quantize else None
    recipe = recipe_of(options.recipe, kind, options.backends, None, options.dtype)
    calibration = calibration_inputs(options, kind, model) if kind else None
    shapes = dynamic_shapes(model, inputs, options)
    return model, make_session(model, inputs, shapes, recipe, calibration, generate_etrecord=True)


def _backends(program: DebuggedProgram) -> list[str]:
    found = []
    for id in program.delegates():
        declared = backend_of_id(id)
        if declared is None:
            raise CommandError(
                f"'{program.path}' has delegates of {id}, which no installed package declares: pass --etrecord with "
                f"the ETRecord that was saved when the program was exported."
            )
        found.append(declared.name)
    return [*found, PORTABLE] if found else [PORTABLE]
