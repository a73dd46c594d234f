# SPDX-License-Identifier: BSD-3-Clause
"""Compares tapped values of eager mode with those of a program that ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from sdk.devtools.inspector._distance import convert_to_float_tensor, snr
from sdk.devtools.inspector._events import frame
from sdk.devtools.intermediate_output_tap._spec import TapSpec
from sdk.devtools.intermediate_output_tap._taps import TapRule, strip_taps_, tap_intermediate_outputs_
from sdk.exir import to_edge_transform_and_lower

if TYPE_CHECKING:
    import pandas as pd


def tap_compare(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    partitioner: list[Any] | None = None,
    *,
    rules: Sequence[TapRule] | TapRule | None = None,
    error_on_empty: bool = True,
) -> tuple[pd.DataFrame, list[TapSpec]]:
    """Exports and lowers a model with taps, runs it on this machine, and compares.

    Returns the table of `compare_aot_runtime_dataframe`, and the taps. `rules` and `error_on_empty` are those of
    `tap_intermediate_outputs_`.
    """
    from sdk.runtime import Runtime

    program, specs = tap_intermediate_outputs_(
        torch.export.export(model, example_inputs, strict=True), rules, error_on_empty=error_on_empty
    )
    expected = pytree.tree_leaves(program.module()(*example_inputs))
    edge = to_edge_transform_and_lower(program, partitioner=partitioner or [])
    strip_taps_(edge)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    assert method is not None
    found = method.execute(pytree.tree_leaves(example_inputs))
    return compare_aot_runtime_dataframe(specs, expected, found), specs


def compare_aot_runtime_dataframe(
    specs: Sequence[TapSpec], aot_flat: Sequence[Any], rt_flat: Sequence[Any]
) -> pd.DataFrame:
    """A pandas frame with a row for each tap.

        `aot_flat` has all outputs of the tapped program in eager mode, `rt_flat` those of the program that ran.

    Columns: the tap's `node_name`, `module_path`, `module_class`, `op_target`, `reducer_name` and `output_index`;
    `aot_NAME` and `rt_NAME` for each number of a reducer; for whole tensors `sqnr_db`, the signal-to-noise ratio, and
    the sizes `aot_numel` and `rt_numel`. Raises ValueError where the sizes of whole tensors differ.
    """
    rows = []
    for spec in specs:
        expected, found = (convert_to_float_tensor(flat[spec.output_index]).reshape(-1) for flat in (aot_flat, rt_flat))
        row: dict[str, Any] = {
            "node_name": spec.node_name,
            "module_path": spec.module_path,
            "module_class": spec.module_class,
            "op_target": spec.op_target,
            "reducer_name": spec.reducer_name,
            "output_index": spec.output_index,
        }
        if spec.fields:
            for name, a, b in zip(spec.fields, expected.tolist(), found.tolist(), strict=True):
                row[f"aot_{name}"], row[f"rt_{name}"] = a, b
        else:
            row["sqnr_db"] = snr(expected, found)
            row["aot_numel"], row["rt_numel"] = expected.numel(), found.numel()
        rows.append(row)
    return frame(rows)
