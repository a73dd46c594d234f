# SPDX-License-Identifier: BSD-3-Clause
"""`Inspector`: the time and the results of a program's run, from an ETDump and an ETRecord."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from torch.export import ExportedProgram

from sdk.devtools.etdump import schema_flatcc as flatcc
from sdk.devtools.etdump.serialize import read_etdump
from sdk.devtools.etrecord import ETRecord, parse_etrecord
from sdk.devtools.inspector._blocks import Reading, blocks_of, resolve
from sdk.devtools.inspector._events import (
    DelegateMetadata,
    DelegateTimeScaleConverter,
    Event,
    EventBlock,
    PerfData,
    frame,
)
from sdk.devtools.inspector._inputs import recorded_blocks, run_on
from sdk.devtools.inspector._matching import (
    DELEGATE_CALL,
    EDGE_DIALECT_GRAPH_KEY,
    OPERATOR_CALL,
    Sources,
    has_state,
    programs_of,
)
from sdk.devtools.inspector._numeric_gap import Layer, Reference, inputs_of, layers, run_reference
from sdk.devtools.inspector._signatures import (
    DebugEventSignature,
    EventSignature,
    InstructionEvent,
    InstructionEventSignature,
    ProfileEventSignature,
)
from sdk.devtools.inspector._table import grid
from sdk.devtools.inspector._tensorboard import write_events
from sdk.devtools.inspector._time_scale import TimeScale, calculate_time_scale_factor
from sdk.devtools.inspector._values import DebugBuffer, hashable
from sdk.devtools.inspector.numerical_comparator import (
    L1Comparator,
    MSEComparator,
    NumericalComparatorBase,
    SNRComparator,
)
from sdk.devtools.inspector.time_table import markdown, method_time
from sdk.devtools.inspector.trace_events import trace_events
from sdk.exir._serialize._regular_file import read_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DebugEventSignature",
    "DelegateMetadata",
    "Event",
    "EventBlock",
    "EventSignature",
    "Inspector",
    "InstructionEvent",
    "InstructionEventSignature",
    "PerfData",
    "ProfileEventSignature",
    "TimeScale",
    "flatcc",
]

# Columns and rows that the printed table leaves out: raw values, and events around a kernel's own event, which have the
# same time.
_UNPRINTED_COLUMNS = ("raw", "delegate_debug_identifier", "stack_traces", "module_hierarchy", "debug_data")
_UNPRINTED_EVENTS = (OPERATOR_CALL,)
_OTHER_INPUTS = (
    "record a run on the ETRecord's inputs, set those of this run with ETRecord.update_representative_inputs(), or "
    "leave out the debug buffer"
)


class Inspector:
    """The events of an ETDump, and, with an ETRecord, the nodes of the model that they come from.

    Attributes:
        event_blocks: The events, in blocks of equal runs.
    """

    def __init__(
        self,
        etdump_path: str | None = None,
        etdump_data: bytes | None = None,
        etrecord: ETRecord | str | None = None,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: str | None = None,
        delegate_metadata_parser: Callable[[list[bytes]], list[str] | dict[str, Any]] | None = None,
        delegate_time_scale_converter: DelegateTimeScaleConverter | None = None,
        enable_module_hierarchy: bool = False,
        reference_graph_name: str = EDGE_DIALECT_GRAPH_KEY,
        *,
        buffer_path: str | None = None,
        method_name: str | None = None,
    ) -> None:
        """Reads the files. Nothing that they contain is run.

        Args:
            etdump_path: The `.etdp` that the runtime wrote.
            etdump_data: Its bytes, instead of the path.
            etrecord: The ETRecord of the program that ran, or its path.
            source_time_scale: The unit of the device's ticks.
            target_time_scale: The unit of the times that are shown.
            debug_buffer_path: The file with the recorded tensors. Without it they are None.
            delegate_metadata_parser: Parses the metadata that a delegate logged with an event. Takes a list with the
                bytes of each run, and returns a list of strings, or a dict whose keys become columns.
            delegate_time_scale_converter: Takes the name of a delegate's event and one of its times, and returns
                the time in the target time scale, for delegates with a separate clock. By default, delegates use the
                device's clock.
            enable_module_hierarchy: Has no effect, because events always have their modules.
            reference_graph_name: The graph of the ETRecord in which the nodes of events are looked up: the edge
                program, or the name of a graph that was added to the ETRecord.
            buffer_path: Another name of `debug_buffer_path`.
            method_name: The method of the ETRecord that ran; by default the one whose instructions match the events, or
                `forward` if several match.

        Raises:
            ValueError: The ETDump, or its debug buffer, is damaged, cut off or of another version, or the ETRecord is
                of another program, or has no graph `reference_graph_name`; or not exactly one of `etdump_path` and
                `etdump_data` was passed.
            RuntimeError: The ETRecord cannot be read, or one of two time scales is in cycles.
        """
        if (etdump_path is None) == (etdump_data is None):
            raise ValueError("Expecting exactly one of etdump_path or etdump_data to be specified.")
        if (source_time_scale == TimeScale.CYCLES) != (target_time_scale == TimeScale.CYCLES):
            raise RuntimeError(
                "For TimeScale in cycles both the source and target time scale have to be in cycles: cycles have no "
                "length in seconds."
            )
        calculate_time_scale_factor(source_time_scale, target_time_scale)
        buffer_path = debug_buffer_path if debug_buffer_path is not None else buffer_path
        self._source_time_scale = source_time_scale
        self._target_time_scale = target_time_scale
        self._etrecord = etrecord if etrecord is None or isinstance(etrecord, ETRecord) else parse_etrecord(etrecord)
        self._etdump = _read(etdump_path, etdump_data)
        runs = self._etdump.run_data
        self._sources = None if self._etrecord is None else Sources.of(self._etrecord, runs, method_name)
        reading = Reading(
            source_time_scale,
            target_time_scale,
            DebugBuffer(None)
            if buffer_path is None
            else DebugBuffer(read_file(buffer_path), f"the debug buffer {str(buffer_path)!r}"),
            delegate_metadata_parser,
            delegate_time_scale_converter,
        )
        self._has_debug_buffer = buffer_path is not None
        self.event_blocks: list[EventBlock] = blocks_of(runs, reading)
        if self._sources is not None and self._etrecord is not None:
            self._sources.refer_to(self._etrecord, reference_graph_name)
            for block in self.event_blocks:
                resolve(block, self._sources)
            self._add_reference_outputs(self._sources.method)

    def _add_reference_outputs(self, method: str) -> None:
        assert self._etrecord is not None
        references = (self._etrecord._reference_outputs or {}).get(method) or []
        for block in self.event_blocks:
            if block.bundled_input_index is not None and block.bundled_input_index < len(references):
                block.reference_output = list(references[block.bundled_input_index])

    def to_dataframe(self, include_units: bool = True, include_delegate_debug_data: bool = False) -> pd.DataFrame:
        """A pandas frame with a row for each event of each block; see `EventBlock.to_dataframe`."""
        return frame(
            [row for block in self.event_blocks for row in block.rows(include_units, include_delegate_debug_data)]
        )

    def _rows(self, include_units: bool, include_delegate_debug_data: bool) -> list[dict[str, Any]]:
        """The columns that are printed for each event."""
        return [
            {name: value for name, value in row.items() if name not in _UNPRINTED_COLUMNS}
            for block in self.event_blocks
            for row in block.rows(include_units, include_delegate_debug_data)
            if row["event_name"] not in _UNPRINTED_EVENTS
        ]

    def print_data_tabular(
        self,
        file: IO[str] | None = None,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Prints the events as a table to `file`, by default to the standard output."""
        print(grid(self._rows(include_units, include_delegate_debug_data)), file=file or sys.stdout)

    def save_data_to_tsv(
        self, file: IO[str], include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> None:
        """Writes the rows of the table to an open text file, with tabs between the columns."""
        rows = self._rows(include_units, include_delegate_debug_data)
        columns = list(dict.fromkeys(name for row in rows for name in row))
        file.write("\t".join(["", *columns]) + "\n")
        for index, row in enumerate(rows):
            cells = ("" if row.get(name) is None else str(row[name]) for name in columns)
            file.write("\t".join([str(index), *(cell.replace("\t", " ").replace("\n", " ") for cell in cells)]) + "\n")

    def trace_events(self) -> dict[str, Any]:
        """The events of all runs as a trace that Perfetto and chrome://tracing open: see `trace_events.trace_events`.
        Write it to a file with `json.dump`."""
        method = None if self._sources is None else self._sources.method
        return trace_events(self._etdump, self._etrecord, self._source_time_scale, method)

    def write_tensorboard_artifact(self, path: str) -> None:
        """Writes an event file for `tensorboard --logdir PATH`: the graph of the program by modules and, as the
        metadata of each kind of run, the time of its operators, which the graph can be coloured by.

        Args:
            path: A folder, which is made.

        Raises:
            ValueError: There is no ETRecord, or it has no edge program.
            ImportError: The package `tensorboard` is missing.
        """
        program = self.get_exported_program()
        if program is None:
            raise ValueError("a graph for TensorBoard needs the model: pass etrecord= to the Inspector")
        runs = [(block, _operators(block)) for block in self.event_blocks if method_time(block) > 0]
        write_events(path, program, runs)

    def markdown(self, top: int = 20) -> str:
        """Markdown tables of the `top` slowest operators, one for each kind of run."""
        blocks = [block for block in self.event_blocks if method_time(block) > 0]
        return "\n".join(markdown(block, top) for block in blocks)

    def find_total_for_module(self, module_name: str) -> float:
        """The time that a module takes, with the modules inside of it, in the target time scale: the sum of the
        averages of its operators' events.

        If the operators of a delegate were measured, the module's own operators count, and not the delegate call, which
        may compute several modules and has overhead.

        Args:
            module_name: The name in `Event.module_hierarchy` (`L__self___conv_layer`), or the module's path in the
                model (`conv_layer`). Part of a name is accepted if no module has it as its whole name.
        """
        timed = [event for block in self.event_blocks for event in _operators(block)]
        exact = [
            e for e in timed if any(_is_named(module_name, *m) for h in e.module_hierarchy.values() for m in h.items())
        ]
        found = exact or [e for e in timed if any(module_name in key for h in e.module_hierarchy.values() for key in h)]
        return sum(e.perf_data.avg for e in found if e.perf_data is not None)

    def get_op_list(self, event_block: str, show_delegated_ops: bool | None = True) -> dict[str, list[Event]]:
        """The events of the blocks of that name by operator (`aten.add.Tensor`).

        Args:
            event_block: The name of the blocks: `Execute`.
            show_delegated_ops: Whether operators inside delegates are among them.
        """
        found: dict[str, list[Event]] = {}
        for event in self.get_event_list(event_block):
            if show_delegated_ops or not event.is_delegated_op:
                for op in dict.fromkeys(event.op_types):
                    found.setdefault(op, []).append(event)
        return found

    def get_event_list(self, event_block: str = "Execute") -> list[Event]:
        """The events of the blocks of that name, in their order."""
        return [event for block in self.event_blocks if block.name == event_block for event in block.events]

    def get_exported_program(self, graph: str | None = None) -> ExportedProgram | None:
        """A program of the ETRecord: the edge program of the method that ran or, by name, one that was added to the
        record (`NAME/METHOD`) or that was exported (`exported_program`). None without an ETRecord, or such a program.
        """
        record = self._etrecord
        if record is None:
            return None
        if graph is None:
            programs = programs_of(record)
            return programs.get(self._sources.method if self._sources else "forward")
        if graph == "exported_program":
            return record.exported_program
        return (record.graph_map or {}).get(graph)

    def calculate_numeric_gap(
        self,
        distance: str | NumericalComparatorBase,
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
    ) -> pd.DataFrame:
        """Compares the results of the runtime with those of eager mode, operator by operator.

        A run of the ETDump must have been on inputs of the ETRecord: those of `update_representative_inputs()` or of
        its bundled program's first case, or the example inputs of the export. The first such run is compared. An ETDump
        of another runtime does not identify its inputs, and its first run is compared. The ETDump needs intermediate
        outputs and its debug buffer. Results of delegates are compared too, and so are the values that backends record
        of the operators inside.

        Args:
            distance: `"L1"`, `"MSE"` or `"SNR"`, or a custom comparator.
            disable_debug_handle_valdiation: Compare with the exported graph even if some nodes of the edge program come
                from none of its nodes.
            reference_graph: What to run in eager mode: `exported_program`, `edge_dialect_program`, or the name of a
                program that was added to the ETRecord (`NAME/METHOD`, or `NAME` for the method that ran), such as
                `edge_after_transform`. By default `exported_program` if the edge program was lowered from it, otherwise
                `edge_dialect_program`.

        Returns:
            A frame with a row for each operator, in the order of the graph: see `NumericalComparatorBase.compare`.

        Raises:
            ValueError: There is no ETRecord, no debug buffer, no recorded value, or nothing to run in eager mode, or
                all runs were on other inputs than the ETRecord's.
        """
        comparator = _comparator(distance)
        comparator.inspector = self
        found, reference = self._layers(reference_graph, disable_debug_handle_valdiation)
        mapping = {
            (layer.handle, hashable(layer.expected)): (layer.runtime_handle, hashable(layer.found)) for layer in found
        }
        runtime_names: dict[tuple[int, ...], list[str]] = {}
        for layer in found:
            names = [source.name for source in self._sources.nodes(layer.runtime_handle)] if self._sources else []
            runtime_names[layer.runtime_handle] = names or [layer.event.name]
        return comparator.compare(mapping, reference.names, runtime_names)

    def layers(self, reference_graph: str | None = None) -> list[Layer]:
        """Pairs of values that the runtime and eager mode have both computed, in the order of the graph. Arguments and
        errors as for `calculate_numeric_gap`."""
        return self._layers(reference_graph, False)[0]

    def _layers(self, reference_graph: str | None, accept_unmatched: bool) -> tuple[list[Layer], Reference]:
        if self._etrecord is None or self._sources is None:
            raise ValueError("comparing with eager mode needs the model: pass etrecord= to the Inspector")
        if not self._has_debug_buffer:
            raise ValueError("comparing with eager mode needs the recorded tensors: pass debug_buffer_path=")
        known = inputs_of(self._etrecord, self._sources.method)
        stateful = has_state(programs_of(self._etrecord)[self._sources.method])
        recorded = recorded_blocks(self.event_blocks, stateful)
        block, inputs = run_on(recorded, lambda _: known, "the ETRecord's", _OTHER_INPUTS, stateful)
        reference = run_reference(self._etrecord, self._sources, inputs, reference_graph, accept_unmatched)
        return layers(block, reference, self._sources), reference


_COMPARATORS: dict[str, type[NumericalComparatorBase]] = {
    "L1": L1Comparator,
    "MSE": MSEComparator,
    "SNR": SNRComparator,
}


def _comparator(distance: str | NumericalComparatorBase) -> NumericalComparatorBase:
    if isinstance(distance, NumericalComparatorBase):
        return distance
    if distance not in _COMPARATORS:
        known = ", ".join(map(repr, _COMPARATORS))
        raise ValueError(f"there is no distance {distance!r}; expected {known}, or a NumericalComparatorBase")
    return _COMPARATORS[distance]()


def _read(path: str | None, data: bytes | None) -> flatcc.ETDumpFlatCC:
    """The ETDump of a file or of bytes. Raises ValueError, with the path."""
    if path is None:
        assert data is not None
        return read_etdump(data)
    try:
        return read_etdump(read_file(path))
    except ValueError as error:
        raise ValueError(f"{str(path)!r} cannot be read as an ETDump: {error}") from error


def _operators(block: EventBlock) -> list[Event]:
    """The timed events of a block, each operator once: measured operators of a delegate replace its call."""
    timed = [e for e in block.events if e.perf_data is not None and e.name not in _UNPRINTED_EVENTS]
    opened = {e._instruction_id for e in timed if e.is_delegated_op}
    return [e for e in timed if e.name != DELEGATE_CALL or e._instruction_id not in opened]


def _is_named(name: str, key: str, module: Any) -> bool:
    """Whether a module of a hierarchy has that name: its key, in any of torch's spellings, or its path."""
    path = module[0] if isinstance(module, (list, tuple)) and module else ""
    spelling = name.removeprefix("L__self__").lstrip("_").replace(".", "_")
    return name in (key, path) or (
        bool(spelling) and spelling == key.removeprefix("L__self__").lstrip("_").replace(".", "_")
    )
