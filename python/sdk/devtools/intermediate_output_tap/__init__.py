# SPDX-License-Identifier: BSD-3-Clause
"""Turns intermediate values into outputs of a program, to compare the results of a device or a backend with eager mode.

    program, specs = tap_intermediate_outputs_(torch.export.export(model, inputs))
    expected = program.module()(*inputs)
    edge = to_edge_transform_and_lower(program, partitioner=[...])
    strip_taps_(edge)
    ...  # edge.to_executorch(), run it
    table = compare_aot_runtime_dataframe(specs, expected, found)

`tap_compare` does all of this on this machine. A tapped value leaves its delegate, so that a backend can no longer fuse
across it.
"""

from sdk.devtools.intermediate_output_tap import custom_ops_lib as custom_ops_lib
from sdk.devtools.intermediate_output_tap._compare import compare_aot_runtime_dataframe, tap_compare
from sdk.devtools.intermediate_output_tap._reducers import FULL_TENSOR, STATS, StatReducer, get_reducer
from sdk.devtools.intermediate_output_tap._selectors import (
    NodeSelector,
    select_all,
    select_all_call_function,
    select_any,
    select_by_module_class,
    select_by_module_path,
    select_by_op_type,
    select_not,
)
from sdk.devtools.intermediate_output_tap._spec import TapSpec
from sdk.devtools.intermediate_output_tap._taps import (
    TapRule,
    find_tap_nodes,
    is_tap_node,
    strip_taps_,
    tap_intermediate_outputs_,
)

__all__ = [
    "FULL_TENSOR",
    "STATS",
    "NodeSelector",
    "StatReducer",
    "TapRule",
    "TapSpec",
    "compare_aot_runtime_dataframe",
    "find_tap_nodes",
    "get_reducer",
    "is_tap_node",
    "select_all",
    "select_all_call_function",
    "select_any",
    "select_by_module_class",
    "select_by_module_path",
    "select_by_op_type",
    "select_not",
    "strip_taps_",
    "tap_compare",
    "tap_intermediate_outputs_",
]
