# SPDX-License-Identifier: BSD-3-Clause
"""The differences of two programs as text."""

from __future__ import annotations

from collections.abc import Iterator

from sdk.devtools.element_types import type_name
from sdk.devtools.pte_tool.differences import (
    EValueDiff,
    ExecutionPlanDiff,
    OperatorUsage,
    PTEDiffResult,
    TensorDataDiff,
    TensorInfo,
)


def format_diff_result(result: PTEDiffResult, verbose: bool = False) -> str:
    """The report as lines of text. `verbose` adds, for each tensor that differs, its sizes in bytes and the operators
    of B that use it."""
    return "\n".join(_lines(result, verbose))


def _lines(result: PTEDiffResult, verbose: bool) -> Iterator[str]:
    yield f"Comparing: {result.path_a} ({result.size_a} bytes) vs {result.path_b} ({result.size_b} bytes)"
    yield f"Status: {'bitwise equal' if result.bitwise_equal else 'NOT bitwise equal'}"
    if result.error is not None:
        yield f"Error: {result.error}"
    if result.version_a is not None:
        yield f"Version: {result.version_a} vs {result.version_b}"
    for plan in result.plan_diffs:
        yield ""
        yield from _plan(plan, verbose)
    for name, plans in (("A", result.extra_plans_in_a), ("B", result.extra_plans_in_b)):
        if plans:
            yield f"Methods only in {name}: {', '.join(plans)}"
    for data in result.named_data_diffs:
        yield f"Named data {data.key!r}: {'bytes differ' if data.bytes_differ else f'only in {data.only_in}'}"


def _plan(plan: ExecutionPlanDiff, verbose: bool) -> Iterator[str]:
    yield f"Plan {plan.plan_index}" + (f" {plan.name_a!r} vs {plan.name_b!r}" if plan.name_a is not None else "") + ":"
    for what, name in (("operators", "Operators"), ("delegates", "Delegates")):
        for side in "ab":
            if found := getattr(plan, f"{what}_only_in_{side}"):
                yield f"  {name} only in {side.upper()}: {', '.join(found)}"
    if plan.delegate_payloads:
        yield f"  Delegates with other payloads or options: {', '.join(map(str, plan.delegate_payloads))}"
    for what, name in (
        ("non_const_buffer_sizes", "Planned memory"),
        ("value_count", "Values"),
        ("instruction_count", "Instructions"),
    ):
        a, b = getattr(plan, f"{what}_a"), getattr(plan, f"{what}_b")
        if a is not None:
            yield f"  {name}: {a} vs {b}"
    for tensor in plan.tensor_diffs:
        yield from _tensor(tensor, verbose)
    for value in plan.evalue_diffs:
        yield from _value(value)
    for side, tensors in (("A", plan.tensors_only_in_a), ("B", plan.tensors_only_in_b)):
        for info in tensors:
            yield f"  Only in {side}: {_info(info)}"


def _tensor(diff: TensorDataDiff, verbose: bool) -> Iterator[str]:
    yield f"  {_info(diff.tensor_a)}"
    yield from _usages("A", diff.tensor_a.operator_usages)
    if verbose:
        yield from _usages("B", diff.tensor_b.operator_usages)
        yield f"    {diff.byte_size_a} vs {diff.byte_size_b} bytes"
    for field in diff.metadata_diffs:
        yield f"    {field.field_name}: {field.value_a} vs {field.value_b}"
    if diff.num_differing:
        yield (
            f"    {diff.num_differing} of {diff.num_elements} elements differ, by {diff.max_abs_diff:.6g} at most and "
            f"{diff.mean_abs_diff:.6g} on average"
        )
        for each in diff.element_diffs:
            yield f"      {list(each.multi_index)}: {each.value_a} vs {each.value_b}"
    elif diff.bytes_differ:
        yield "    bytes differ"


def _value(diff: EValueDiff) -> Iterator[str]:
    if diff.type_mismatch:
        yield f"  [{diff.evalue_index}] {diff.type_a} vs {diff.type_b}"
    else:
        yield f"  [{diff.evalue_index}] {diff.type_a}"
        for field in diff.field_diffs:
            yield f"    {field.field_name}: {field.value_a} vs {field.value_b}"
    yield from _usages("A", diff.operator_usages_a)
    if diff.operator_usages_b != diff.operator_usages_a:
        yield from _usages("B", diff.operator_usages_b)


def _usages(side: str, usages: list[OperatorUsage]) -> Iterator[str]:
    for usage in usages:
        yield f"    argument {usage.arg_index} of {usage.name} in {side}"


def _info(info: TensorInfo) -> str:
    kind = "constant" if info.data_buffer_idx > 0 else "tensor"
    name = f" {info.fqn!r}" if info.fqn else ""
    return f"[{info.evalue_index}] {kind} {type_name(info.scalar_type)}{info.sizes}{name}"
