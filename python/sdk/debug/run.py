# SPDX-License-Identifier: BSD-3-Clause
"""The runtime's records of a run here, or of a run on a device."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdk.debug.program import DebuggedProgram
from sdk.devtools.etdump.schema_flatcc import RunData
from sdk.devtools.etdump.serialize import read_etdump
from sdk.devtools.inspector._blocks import Reading, blocks_of
from sdk.devtools.inspector._events import EventBlock
from sdk.devtools.inspector._inputs import recorded_blocks
from sdk.devtools.inspector._matching import KERNEL_EVENT, Sources, has_state
from sdk.devtools.inspector._numeric_gap import copies
from sdk.devtools.inspector._signatures import instruction_of
from sdk.devtools.inspector._values import DebugBuffer
from sdk.exir._serialize._regular_file import read_file
from sdk.exir.record import ETRecord

_FIRST_BUFFER = 64 << 20


def run_here(
    program: DebuggedProgram, method: str, inputs: Sequence[Any], weights: Path | None
) -> tuple[list[RunData], DebugBuffer]:
    """Runs a method once in this package's runtime, and returns its events and recorded values.

    Raises:
        RuntimeError: The runtime refuses the program or the inputs: it says why.
    """
    with tempfile.TemporaryDirectory() as folder:
        dump, buffer = Path(folder) / "run.etdp", Path(folder) / "run.bin"
        needed = _record(program, method, inputs, weights, dump, buffer, _FIRST_BUFFER)
        if needed is not None:
            _record(program, method, inputs, weights, dump, buffer, needed)
        return read_etdump(dump.read_bytes()).run_data, DebugBuffer(buffer.read_bytes())


def _record(
    program: DebuggedProgram,
    method: str,
    inputs: Sequence[Any],
    weights: Path | None,
    dump: Path,
    buffer: Path,
    size: int,
) -> int | None:
    """Returns the size in bytes that the buffer needs, or None if it was large enough."""
    from sdk.runtime import Runtime

    loaded = Runtime.get().load_program(
        program.data,
        enable_etdump=True,
        debug_buffer_size=size,
        data_map=None if weights is None else read_file(weights),
    )
    loaded.load_method(method).execute(copies(inputs))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded.write_etdump_result_to_file(str(dump), str(buffer))
    found = [re.search(r"debug_buffer_size of at least (\d+)", str(warning.message)) for warning in caught]
    return next((int(match[1]) for match in found if match), None)


def read_run(
    etdump: Path, buffer: Path | None, program: DebuggedProgram, method: str
) -> tuple[list[RunData], DebugBuffer]:
    """Reads a device's records.

    Raises:
        ValueError: A file is damaged, or belongs to another program; the message says which file, and what to do.
    """
    try:
        runs = read_etdump(read_file(etdump)).run_data
    except ValueError as error:
        raise ValueError(f"'{etdump}' cannot be read as an ETDump: {error}") from error
    problem = _other_program(runs, program.calls(method))
    if problem is not None:
        raise ValueError(
            f"'{etdump}' is of another program than '{program.path}': {problem}. "
            "Pass the program that ran on the device"
        )
    if buffer is None:
        raise ValueError(
            f"'{etdump}' has no tensors without the debug buffer that was written with it: pass --debug-buffer"
        )
    return runs, DebugBuffer(read_file(buffer), f"the debug buffer '{buffer}'")


def _other_program(runs: Sequence[RunData], calls: Sequence[str]) -> str | None:
    """Why a program with these calls cannot have recorded the events; None if it can."""
    for run in runs:
        for event in run.events or ():
            profile = event.profile_event
            if profile is None or instruction_of(profile) < 0:
                continue
            index, name = profile.instruction_id, profile.name or ""
            if index >= len(calls):
                return f"it has an instruction {index}, the program has {len(calls)}"
            kernel = calls[index].partition("::")[2] or calls[index]
            if name.startswith(KERNEL_EVENT) and name != (KERNEL_EVENT + kernel)[: len(name)]:
                return f"its instruction {index} calls {name.removeprefix(KERNEL_EVENT)}, the program's calls {kernel}"
            if name == "DELEGATE_CALL" and not calls[index].startswith("delegate "):
                return f"its instruction {index} calls a delegate, the program's calls {kernel}"
    return None


def blocks_of_case(
    runs: list[RunData], buffer: DebugBuffer, record: ETRecord, method: str, case: int | None
) -> tuple[list[EventBlock], Sources]:
    """The runs with recorded values, of the given bundled case if any, and the source of their events' nodes.

    A run that does not identify its case matches any case.

    Raises ValueError without such a run.
    """
    sources = Sources.of(record, runs, method)
    stateful = sources.program is not None and has_state(sources.program)
    recorded = recorded_blocks(blocks_of(runs, Reading(buffer=buffer)), stateful)
    found = [block for block in recorded if case is None or block.bundled_input_index in (None, case)]
    if not found:
        have = ", ".join(str(block.bundled_input_index) for block in recorded)
        raise ValueError(f"the ETDump has no run of case {case}; it has those of {have}")
    if case is not None:
        found.sort(key=lambda block: block.bundled_input_index is None)
    return found, sources
