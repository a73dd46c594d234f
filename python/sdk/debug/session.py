# SPDX-License-Identifier: BSD-3-Clause
"""One call of the command: loads the program, the ETRecord and the inputs, runs, and compares."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from sdk.debug.departures import comparisons
from sdk.debug.layer_losses import Losses, is_quantized, layer_losses
from sdk.debug.program import DebuggedProgram, read_program
from sdk.debug.record import rebuild, record_of
from sdk.debug.report import Result
from sdk.debug.run import blocks_of_case, read_run, run_here
from sdk.devtools.inspector._blocks import resolve
from sdk.devtools.inspector._distance import snr
from sdk.devtools.inspector._events import EventBlock
from sdk.devtools.inspector._inputs import Inputs, digest_of, flat_inputs, run_on
from sdk.devtools.inspector._matching import has_state, programs_of
from sdk.devtools.inspector._numeric_gap import Reference, copies, inputs_of, kept_buffers, results, run_reference
from sdk.exir.record import ETRecord
from sdk.export.cli.inputs import read_inputs
from sdk.export.cli.model import Model, load_model

_OTHER_INPUTS = "pass those of the run as --inputs FILE.pt, or record a run on the expected ones"


def debug(options: Namespace, export: Sequence[str]) -> Result:
    """Runs the command.

    Args:
        options: The parsed options.
        export: Arguments for `sdk.export`, for a program whose ETRecord is made again.

    Raises:
        CommandError, OSError, RuntimeError, ValueError, KeyError: The message is for the user.
    """
    program, cases = read_program(options.program)
    method = options.method
    if method not in program.plans:
        raise ValueError(f"'{program.path}' has no method {method!r}, it has {', '.join(map(repr, program.plans))}")
    if options.bundled is not None:
        cases = _cases_of(options, program)
    record, model = _record(options, export, program)
    known = _known_inputs(options, cases.get(method, []), record)
    inputs: Inputs
    if options.etdump is None:
        inputs = known(None)[0]
        runs, buffer = run_here(program, method, inputs, options.data)
        (block, *_), sources = blocks_of_case(runs, buffer, record, method, None)
    else:
        runs, buffer = read_run(options.etdump, options.debug_buffer, program, method)
        blocks, sources = blocks_of_case(runs, buffer, record, method, options.case)
        stateful = sources.program is not None and has_state(sources.program)
        block, inputs = run_on(blocks, known, _whose(options, bool(cases.get(method))), _OTHER_INPUTS, stateful)
    resolve(block, sources)
    reference = run_reference(record, sources, inputs)
    compared = _compare(block, reference, sources)
    built = model is not None and any(found.departs for found in compared)
    return Result(
        program.path,
        method,
        "here" if options.etdump is None else str(options.etdump),
        options.etdump is None or block._inputs_digest == digest_of(inputs) != 0,
        compared,
        _outputs(block, reference),
        None if options.no_losses else _losses(reference, options.model, model, method),
        _random_weight(options.model, method) if built else None,
    )


def _record(options: Namespace, export: Sequence[str], program: DebuggedProgram) -> tuple[ETRecord, Model | None]:
    path = options.etrecord
    if path is None and not export:
        beside = program.path.with_suffix(".etrecord")
        path = beside if beside.exists() else None
    if path is not None:
        return record_of(path, program, options.method), None
    if options.model is None:
        raise ValueError(
            f"the model of '{program.path}' is unknown: pass it as in `sdk debug model.py:Net {program.path}`, "
            "or --etrecord with the ETRecord that was saved when it was exported"
        )
    return rebuild(program, options.model, export, options.method, options.inputs)


def _cases_of(options: Namespace, program: DebuggedProgram) -> dict[str, list[list[Any]]]:
    bundled, cases = read_program(options.bundled)
    if not cases:
        raise ValueError(f"'{options.bundled}' has no test cases: expected a bundled program (.bpte)")
    if bundled.data != program.data:
        raise ValueError(
            f"'{options.bundled}' has another program than '{program.path}': pass the bundled program that was made "
            "of it"
        )
    return cases


def _known_inputs(
    options: Namespace, cases: list[list[Any]], record: ETRecord
) -> Callable[[EventBlock | None], list[list[Any]]]:
    """Returns a function that lists the inputs that a run may have used: the user's, those of bundled cases, or the
    ETRecord's. If the user does not choose a case, the case of the run comes first; without a run, the first case
    does."""
    if options.inputs is not None:
        programs = programs_of(record)
        if options.method not in programs:
            raise ValueError(f"the ETRecord has no edge program of method {options.method!r}")
        given = [flat_inputs(programs[options.method], read_inputs(options.inputs), f"`{options.inputs}`")]
        return lambda _: given
    if not cases:
        if options.case is not None:
            raise ValueError("--case is the number of a bundled case: pass --bundled, or a .bpte as the program")
        recorded = inputs_of(record, options.method)
        return lambda _: recorded

    def of_cases(block: EventBlock | None) -> list[list[Any]]:
        ran = 0 if block is None or block.bundled_input_index is None else block.bundled_input_index
        number = ran if options.case is None else options.case
        if not 0 <= number < len(cases):
            raise ValueError(
                f"there is no case {number}: method {options.method!r} has {len(cases)} bundled cases, from 0 on"
            )
        others = cases if options.case is None else []
        return [cases[number], *others]

    return of_cases


def _whose(options: Namespace, has_cases: bool) -> str:
    """Names the candidate inputs in a message."""
    if options.inputs is not None:
        return f"those of '{options.inputs}'"
    if not has_cases:
        return "the ETRecord's"
    return "those of its bundled cases" if options.case is None else f"those of the bundled case {options.case}"


def _compare(block: EventBlock, reference: Reference, sources: Any) -> list[Any]:
    recorded = results(block, reference, sources)
    if not recorded:
        raise ValueError(
            "no recorded value belongs to an operator of the model: was the ETRecord made with this program?"
        )
    with kept_buffers(reference.module):
        return comparisons(reference.module, copies(reference.inputs), recorded)


def _outputs(block: EventBlock, reference: Reference) -> list[float]:
    """The SQNR of each recorded output of the method, compared with eager mode."""
    with torch.no_grad(), kept_buffers(reference.module):
        result = torch.fx.Interpreter(reference.module).run(*copies(reference.inputs), enable_io_processing=False)
    expected = pytree.tree_leaves(result)
    found = block.run_output or []
    if len(expected) != len(found):
        return []
    pairs = zip(expected, found, strict=True)
    return [snr(e, f) for e, f in pairs if isinstance(e, torch.Tensor) and isinstance(f, torch.Tensor)]


def _random_weight(text: str, method: str) -> str | None:
    """Finds a weight whose values change when the model is built again. Returns None if there is none."""
    first, second = (load_model(text).modules.get(method) for _ in range(2))
    if first is None or second is None:
        return None
    again = second.state_dict()
    for name, weight in first.state_dict().items():
        if isinstance(weight, torch.Tensor) and name in again and not torch.equal(weight, again[name]):
            return name
    return None


def _losses(reference: Reference, text: str | None, model: Model | None, method: str) -> Losses | None:
    if not is_quantized(reference.module):
        return None
    if model is None and text is not None:
        model = load_model(text)
    module = None if model is None or model.programs else model.modules.get(method)
    return layer_losses(reference.module, reference.inputs, module)
