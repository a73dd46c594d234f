# SPDX-License-Identifier: BSD-3-Clause
"""Events that the Inspector shows, in blocks of equal runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sdk.devtools.inspector._time_scale import TimeScale
from sdk.devtools.inspector._values import InferenceOutput

if TYPE_CHECKING:
    import pandas as pd

DelegateMetadataParser = Callable[[list[bytes]], "list[str] | dict[str, Any]"]
DelegateTimeScaleConverter = Callable[["int | str", "int | float"], "int | float"]


class DelegateMetadata(dict[str, Any]):
    """What an ETRecord says about a delegate: its `name`, and its `delegate_map` from identifiers to debug handles."""


class PerfData:
    """The times of an event, one for each run, in the Inspector's target time scale, and their statistics.

    A percentile between two times is interpolated.
    """

    def __init__(self, raw: Sequence[float]) -> None:
        self.raw = [float(time) for time in raw]

    @property
    def p10(self) -> float:
        return float(np.percentile(self.raw, 10))

    @property
    def p50(self) -> float:
        return float(np.percentile(self.raw, 50))

    @property
    def p90(self) -> float:
        return float(np.percentile(self.raw, 90))

    @property
    def avg(self) -> float:
        return float(np.mean(self.raw))

    @property
    def min(self) -> float:
        return min(self.raw)

    @property
    def max(self) -> float:
        return max(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerfData) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(tuple(self.raw))

    def __repr__(self) -> str:
        return f"PerfData(raw={self.raw})"


_STATISTICS = ("p10", "p50", "p90", "avg", "min", "max")


@dataclass
class Event:
    """Something that was measured or recorded: an instruction, a method, or an operator inside a delegate.

    Attributes:
        name: The runtime's name of it, or the delegate's identifier.
        perf_data: Its times; None where it was only recorded.
        op_types: The operators of its nodes, as the edge dialect names them.
        delegate_debug_identifier: The identifier that the delegate gave the event; None outside of delegates.
        debug_handles: The debug handles of its nodes: one, several, or None.
        num_outputs: The number of values that it returns.
        stack_traces: For each node, the stack trace of its call in the model's source.
        module_hierarchy: For each node, the modules in which it was called, outermost first: a dict from name to path
            and class.
        is_delegated_op: Whether it ran inside a delegate.
        delegate_backend_name: The backend, where it is a delegate or inside of one.
        debug_data: The recorded results of the first run, in order.
    """

    name: str
    perf_data: PerfData | None = None
    op_types: list[str] = field(default_factory=list)
    delegate_debug_identifier: int | str | None = None
    debug_handles: int | Sequence[int] | None = None
    num_outputs: int = 1
    stack_traces: dict[str, str] = field(default_factory=dict)
    module_hierarchy: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_delegated_op: bool | None = None
    delegate_backend_name: str | None = None
    _delegate_debug_metadatas: list[bytes] = field(default_factory=list)
    debug_data: list[InferenceOutput] = field(default_factory=list)
    _instruction_id: int | None = None
    _delegate_metadata_parser: DelegateMetadataParser | None = None
    _delegate_time_scale_converter: DelegateTimeScaleConverter | None = None
    _start_time: list[int] | None = None
    # The debug handles of the nodes whose results are in `debug_data`. None means those of `debug_handles`.
    _recorded_handles: tuple[int, ...] | None = None
    # The operator of the node whose result is in `debug_data`, if the delegate names it.
    _recorded_operator: str | None = None

    @property
    def raw_delegate_debug_metadatas(self) -> list[bytes]:
        """The metadata that the delegate logged with the event in each run; empty if it logged none."""
        return self._delegate_debug_metadatas

    @property
    def delegate_debug_metadatas(self) -> list[str] | dict[str, Any]:
        """The metadata that the delegate logged, converted by the user's parser, or to text if there is no parser."""
        if not self.is_delegated_op or not self._delegate_debug_metadatas:
            return []
        if self._delegate_metadata_parser is None:
            return [str(data) for data in self._delegate_debug_metadatas]
        return self._delegate_metadata_parser(self._delegate_debug_metadatas)

    @property
    def start_time(self) -> list[int] | None:
        """When the event began in each run, in ticks of the device's clock."""
        return self._start_time

    @property
    def handles(self) -> tuple[int, ...]:
        """The debug handles as a tuple; empty for an event without handles."""
        if self.debug_handles is None:
            return ()
        return (self.debug_handles,) if isinstance(self.debug_handles, int) else tuple(self.debug_handles)

    @property
    def recorded_handles(self) -> tuple[int, ...]:
        """The debug handles of the nodes whose results `debug_data` has. A backend may compute one node in several
        steps, of which only one has the node's result."""
        return self.handles if self._recorded_handles is None else self._recorded_handles

    def asdict(self, _units: str = "") -> dict[str, Any]:
        """The values of a row of the table, by column. `_units` is added to the names of times: " (ms)"."""
        data = self.perf_data
        return {
            "event_name": self.name,
            "raw": None if data is None else data.raw,
            **{name + _units: None if data is None else getattr(data, name) for name in _STATISTICS},
            "op_types": self.op_types,
            "delegate_debug_identifier": self.delegate_debug_identifier,
            "stack_traces": self.stack_traces,
            "module_hierarchy": self.module_hierarchy,
            "is_delegated_op": self.is_delegated_op,
            "delegate_backend_name": self.delegate_backend_name,
            "debug_data": self.debug_data,
            "start_time": self._start_time,
        }

    def to_dataframe(self, _units: str = "") -> pd.DataFrame:
        """The event as a frame of one row."""
        return frame([self.asdict(_units)])


@dataclass
class EventBlock:
    """The events of equal runs: the runs of a method (`Execute`), or what happened before (`Default`).

    Attributes:
        name: The runtime's name.
        events: In the order in which they ended.
        source_time_scale, target_time_scale: The unit of the device's ticks, and of the times of the events.
        bundled_input_index: The case of the bundled program that was run; None if the run was not of a bundled case.
        run_output: The recorded outputs of the method.
        reference_output: The expected outputs, from the ETRecord.
    """

    name: str
    events: list[Event] = field(default_factory=list)
    source_time_scale: TimeScale = TimeScale.NS
    target_time_scale: TimeScale = TimeScale.MS
    bundled_input_index: int | None = None
    run_output: list[InferenceOutput] | None = None
    reference_output: list[Any] | None = None
    _inputs_digest: int = 0
    _first_run: int = 0
    """The number of the first of these runs in the ETDump."""

    def to_dataframe(self, include_units: bool = False, include_delegate_debug_data: bool = False) -> pd.DataFrame:
        """A row for each event.

        Args:
            include_units: Whether the names of columns with times end with the unit.
            include_delegate_debug_data: Add what delegates logged: the columns that the parser returns as a dict, or
                `delegate_debug_metadata`.
        """
        return frame(self.rows(include_units, include_delegate_debug_data))

    def rows(self, include_units: bool = False, include_delegate_debug_data: bool = False) -> list[dict[str, Any]]:
        """The rows of `to_dataframe`, by column."""
        units = f" ({self.target_time_scale.value})" if include_units else ""
        rows: list[dict[str, Any]] = []
        for event in self.events:
            row = {"event_block_name": self.name, **event.asdict(units)}
            if include_delegate_debug_data:
                found = event.delegate_debug_metadatas
                row.update(found if isinstance(found, Mapping) else {"delegate_debug_metadata": found or None})
            rows.append(row)
        return rows


def frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> pd.DataFrame:
    """A pandas frame whose cells may be lists, with these columns first. Raises ImportError where pandas is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("the Inspector's tables need pandas: pip install 'pte-sdk[devtools]'") from error
    columns = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    # An array of objects keeps lists, dicts and tensors as they are.
    cells: dict[str, Any] = {}
    for name in columns:
        values = [row.get(name) for row in rows]
        if all(type(value) in (int, float, bool, str) for value in values):
            cells[name] = values
        else:
            array = np.empty(len(values), dtype=object)
            for index, value in enumerate(values):
                array[index] = value
            cells[name] = array
    return pd.DataFrame(cells, columns=columns)
