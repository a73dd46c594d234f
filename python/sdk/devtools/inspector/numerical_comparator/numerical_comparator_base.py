# SPDX-License-Identifier: BSD-3-Clause
"""The interface of comparators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

from sdk.devtools.inspector._events import frame
from sdk.devtools.inspector._intermediate_output_capturer import DebugHandle

if TYPE_CHECKING:
    import pandas as pd

IntermediateOutputMapping: TypeAlias = dict[tuple[DebugHandle, Any], tuple[DebugHandle, Any]]
"""Maps values of eager mode to values of the runtime, each with its debug handles."""


_COLUMNS = (
    "aot_debug_handle",
    "aot_ops",
    "aot_intermediate_output",
    "runtime_ops",
    "runtime_debug_handle",
    "runtime_intermediate_output",
    "gap",
)


class NumericalComparatorBase(ABC):
    """Compares values by a measure that a subclass gives. Pass an object of it to
    `Inspector.calculate_numeric_gap`."""

    def __init__(self, inspector: Any = None) -> None:
        """
        Args:
            inspector: The Inspector, for a comparator that needs more than the values. `calculate_numeric_gap` sets it.
                Its type is not named here, because the Inspector's module imports this one.
        """
        self.inspector = inspector

    def preprocessing(self, mapping: IntermediateOutputMapping) -> IntermediateOutputMapping:
        """The values to compare; override it to change them, or to leave some out."""
        return mapping

    @abstractmethod
    def element_compare(self, a: Any, b: Any) -> float:
        """The distance of the runtime's value, `b`, from eager mode's value, `a`."""

    def compare(
        self,
        mapping: IntermediateOutputMapping,
        aot_debug_handle_to_op_names: dict[DebugHandle, list[str]],
        runtime_debug_handle_to_op_names: dict[DebugHandle, list[str]],
    ) -> pd.DataFrame:
        """A row for each pair, in their order.

        Columns: `aot_debug_handle`, `aot_ops`, `aot_intermediate_output` of eager mode, the same of the runtime, and
        `gap`, a list of one number.
        """
        rows = []
        for (aot_handle, aot_value), (runtime_handle, runtime_value) in self.preprocessing(mapping).items():
            rows.append(
                {
                    "aot_debug_handle": aot_handle,
                    "aot_ops": find_op_names(aot_handle, aot_debug_handle_to_op_names),
                    "aot_intermediate_output": aot_value,
                    "runtime_ops": find_op_names(runtime_handle, runtime_debug_handle_to_op_names),
                    "runtime_debug_handle": runtime_handle,
                    "runtime_intermediate_output": runtime_value,
                    "gap": [self.element_compare(aot_value, runtime_value)],
                }
            )
        return frame(rows, _COLUMNS)


def find_op_names(
    target_debug_handle: DebugHandle, debug_handle_to_op_names: dict[DebugHandle, list[str]]
) -> list[str]:
    """Returns the names of the operators whose handles are all among those of the target."""
    wanted = set(target_debug_handle)
    return [name for handles, names in debug_handle_to_op_names.items() if wanted.issuperset(handles) for name in names]
