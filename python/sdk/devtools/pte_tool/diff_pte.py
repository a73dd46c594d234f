# SPDX-License-Identifier: BSD-3-Clause
"""Compares two `.pte` files: methods, operators, values, constants by element, payloads and named data.

python -m sdk.devtools.pte_tool.diff_pte A.pte B.pte [--verbose] [--max-samples 10]
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from sdk.command import CommandError, existing
from sdk.command.arguments import count
from sdk.command.tools import run_tool
from sdk.devtools.pte_tool.differences import (
    ElementDiff,
    EValueDiff,
    ExecutionPlanDiff,
    FieldDiff,
    NamedDataDiff,
    OperatorUsage,
    PTEDiffResult,
    TensorDataDiff,
    TensorInfo,
)
from sdk.devtools.pte_tool.text import format_diff_result
from sdk.exir._serialize._program import PTEFile, deserialize_pte_binary
from sdk.exir._serialize._regular_file import read_file
from sdk.exir.scalar_type import ScalarType
from sdk.exir.schema import DelegateCall, ExecutionPlan, KernelCall, Tensor

__all__ = [
    *("ElementDiff", "EValueDiff", "ExecutionPlanDiff", "FieldDiff", "NamedDataDiff", "OperatorUsage"),
    *("PTEDiffResult", "TensorDataDiff", "TensorInfo", "diff_pte", "format_diff_result"),
]

_DTYPES = {
    ScalarType.BYTE: torch.uint8, ScalarType.CHAR: torch.int8, ScalarType.SHORT: torch.int16,
    ScalarType.INT: torch.int32, ScalarType.LONG: torch.int64, ScalarType.HALF: torch.float16,
    ScalarType.FLOAT: torch.float32, ScalarType.DOUBLE: torch.float64, ScalarType.BOOL: torch.bool,
    ScalarType.BFLOAT16: torch.bfloat16, ScalarType.QUINT8: torch.uint8, ScalarType.QINT8: torch.int8,
    ScalarType.QINT32: torch.int32,
}  # fmt: skip
_PLACES = ("data_buffer_idx", "mutable_data_segments_idx")
"""Fields that only say where data is; the data itself is compared."""


def diff_pte(
    data_a: bytes, data_b: bytes, path_a: str = "A", path_b: str = "B", max_samples: int = 10
) -> PTEDiffResult:
    """The differences of two programs. Lists the first `max_samples` differing elements of each tensor."""
    result = PTEDiffResult(path_a, path_b, len(data_a), len(data_b), data_a == data_b)
    if result.bitwise_equal:
        return result
    files = []
    for path, data in ((path_a, data_a), (path_b, data_b)):
        try:
            files.append(deserialize_pte_binary(data))
        except ValueError as error:
            result.error = f"{path} cannot be read: {error}"
            return result
    a, b = files
    if a.program.version != b.program.version:
        result.version_a, result.version_b = a.program.version, b.program.version
    plans_a, plans_b = a.program.execution_plan, b.program.execution_plan
    for index, (plan_a, plan_b) in enumerate(zip(plans_a, plans_b, strict=False)):
        found = _Plans(a, b, plan_a, plan_b, max_samples).compare(index)
        if found.has_differences():
            result.plan_diffs.append(found)
    common = min(len(plans_a), len(plans_b))
    result.extra_plans_in_a = [plan.name for plan in plans_a[common:]]
    result.extra_plans_in_b = [plan.name for plan in plans_b[common:]]
    result.named_data_diffs = _named_data(a, b)
    return result


def _named_data(a: PTEFile, b: PTEFile) -> list[NamedDataDiff]:
    data_a, data_b = ({key: named.buffers[entry.buffer_index] for key, entry in named.pte_data.items()} if named else {}
                      for named in (a.named_data, b.named_data))  # fmt: skip
    found = []
    for key in sorted(data_a.keys() | data_b.keys()):
        if key not in data_b:
            found.append(NamedDataDiff(key, "A"))
        elif key not in data_a:
            found.append(NamedDataDiff(key, "B"))
        elif bytes(data_a[key]) != bytes(data_b[key]):
            found.append(NamedDataDiff(key, "", bytes_differ=True))
    return found


class _Plans:
    """Compares two methods: each value with the value of the same index."""

    def __init__(self, a: PTEFile, b: PTEFile, plan_a: ExecutionPlan, plan_b: ExecutionPlan, samples: int) -> None:
        self.files, self.plans, self.samples = (a, b), (plan_a, plan_b), samples
        self.usages = (_usages(plan_a), _usages(plan_b))

    def compare(self, index: int) -> ExecutionPlanDiff:
        a, b = self.plans
        diff = ExecutionPlanDiff(index)
        if a.name != b.name:
            diff.name_a, diff.name_b = a.name, b.name
        diff.operators_only_in_a, diff.operators_only_in_b = _only(*(map(_operator, p.operators) for p in self.plans))
        diff.delegates_only_in_a, diff.delegates_only_in_b = _only(*((d.id for d in p.delegates) for p in self.plans))
        diff.delegate_payloads = self._payloads()
        for name, value_a, value_b in (
            ("non_const_buffer_sizes", a.non_const_buffer_sizes, b.non_const_buffer_sizes),
            ("value_count", len(a.values), len(b.values)),
            ("instruction_count", *(sum(len(chain.instructions) for chain in p.chains) for p in self.plans)),
        ):
            if value_a != value_b:
                setattr(diff, f"{name}_a", value_a)
                setattr(diff, f"{name}_b", value_b)
        for position, (value_a, value_b) in enumerate(zip(a.values, b.values, strict=False)):
            self._compare_values(diff, position, value_a.val, value_b.val)
        common = min(len(a.values), len(b.values))
        for which, found in ((0, diff.tensors_only_in_a), (1, diff.tensors_only_in_b)):
            rest = self.plans[which].values[common:]
            found += [self._info(which, common + i, v.val) for i, v in enumerate(rest) if isinstance(v.val, Tensor)]
        return diff

    def _payloads(self) -> list[int]:
        def content(which: int, position: int) -> tuple:
            delegate = self.plans[which].delegates[position]
            payload = self.files[which].program.backend_delegate_data[delegate.processed.index].data
            return delegate.id, bytes(payload), [(spec.key, bytes(spec.value)) for spec in delegate.compile_specs]

        common = min(len(plan.delegates) for plan in self.plans)
        return [position for position in range(common) if content(0, position) != content(1, position)]

    def _compare_values(self, diff: ExecutionPlanDiff, position: int, a: Any, b: Any) -> None:
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            found = self._compare_tensors(position, a, b)
            if found is not None:
                diff.tensor_diffs.append(found)
            return
        mismatch = type(a) is not type(b)
        changed = [] if mismatch else _fields(a, b)
        if mismatch or changed:
            usages = [usages.get(position, []) for usages in self.usages]
            diff.evalue_diffs.append(
                EValueDiff(position, type(a).__name__, type(b).__name__, mismatch, changed, *usages)
            )

    def _compare_tensors(self, position: int, a: Tensor, b: Tensor) -> TensorDataDiff | None:
        data_a, data_b = self._data(0, a), self._data(1, b)
        changed = _fields(a, b)
        if not changed and data_a == data_b:
            return None
        found = TensorDataDiff(
            self._info(0, position, a), self._info(1, position, b), len(data_a or b""), len(data_b or b""),
            data_a != data_b, changed,
        )  # fmt: skip
        comparable = (a.scalar_type, a.sizes, a.dim_order) == (b.scalar_type, b.sizes, b.dim_order)
        if found.bytes_differ and comparable and data_a and data_b and len(data_a) == len(data_b):
            _compare_elements(found, a, data_a, data_b, self.samples)
        return found

    def _data(self, which: int, tensor: Tensor) -> bytes | None:
        """The constant, or the first content of a mutable buffer."""
        file, extra = self.files[which], tensor.extra_tensor_info
        index, buffers = tensor.data_buffer_idx, file.program.constant_buffer
        if extra is not None and extra.mutable_data_segments_idx > 0:
            index, buffers = extra.mutable_data_segments_idx, file.mutable_data or []
        return bytes(buffers[index].storage) if 0 < index < len(buffers) else None

    def _info(self, which: int, position: int, tensor: Tensor) -> TensorInfo:
        extra = tensor.extra_tensor_info
        name = None if extra is None else extra.fully_qualified_name
        usages = self.usages[which].get(position, [])
        return TensorInfo(position, tensor.scalar_type, list(tensor.sizes), name, tensor.data_buffer_idx, usages)


def _operator(operator: Any) -> str:
    return f"{operator.name}.{operator.overload}" if operator.overload else str(operator.name)


def _only(a: Any, b: Any) -> tuple[list[str], list[str]]:
    """Returns the entries that occur more often in the first than in the second, and vice versa."""
    count_a, count_b = Counter(a), Counter(b)
    return sorted((count_a - count_b).elements()), sorted((count_b - count_a).elements())


def _usages(plan: ExecutionPlan) -> dict[int, list[OperatorUsage]]:
    found: dict[int, list[OperatorUsage]] = {}
    for chain in plan.chains:
        for instruction in chain.instructions:
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                name = _operator(plan.operators[call.op_index])
            elif isinstance(call, DelegateCall):
                name = f"delegate:{plan.delegates[call.delegate_index].id}"
            else:
                continue
            for position, value in enumerate(call.args):
                found.setdefault(value, []).append(OperatorUsage(name, position))
    return found


def _fields(a: Any, b: Any, prefix: str = "") -> list[FieldDiff]:
    """The fields that differ, including fields of parts that both have."""
    found = []
    for each in dataclasses.fields(a):
        value_a, value_b = getattr(a, each.name), getattr(b, each.name)
        if each.name in _PLACES or value_a == value_b:
            continue
        if dataclasses.is_dataclass(value_a) and type(value_a) is type(value_b):
            found += _fields(value_a, value_b, f"{prefix}{each.name}.")
        else:
            found.append(FieldDiff(prefix + each.name, value_a, value_b))
    return found


def _compare_elements(found: TensorDataDiff, tensor: Tensor, data_a: bytes, data_b: bytes, samples: int) -> None:
    dtype = _DTYPES.get(tensor.scalar_type)
    if dtype is None or len(data_a) % dtype.itemsize:
        return
    a, b = (_in_order(torch.frombuffer(bytearray(data), dtype=dtype), tensor) for data in (data_a, data_b))
    same = (a == b) | ((a != a) & (b != b))
    places = (~same).nonzero().flatten()
    distance = (a.double() - b.double()).abs()[places]
    found.num_elements, found.num_differing = a.numel(), places.numel()
    if places.numel():
        found.max_abs_diff, found.mean_abs_diff = distance.max().item(), distance.mean().item()
    for place in places[:samples].tolist():
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), tensor.sizes))
        found.element_diffs.append(ElementDiff(place, index, a[place].item(), b[place].item()))


def _in_order(elements: torch.Tensor, tensor: Tensor) -> torch.Tensor:
    """Elements of memory in the order of the dimensions."""
    order = list(tensor.dim_order)
    if order == sorted(order) or elements.numel() != torch.Size(tensor.sizes).numel():
        return elements
    inner = elements.reshape([tensor.sizes[d] for d in order])
    return inner.permute([order.index(d) for d in range(len(order))]).flatten()


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the differences. Returns 0, or 1 after one line on stderr if a file cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m sdk.devtools.pte_tool.diff_pte", description="Compares two .pte files."
    )
    parser.add_argument("file_a", help="the first program")
    parser.add_argument("file_b", help="the second program")
    parser.add_argument("-v", "--verbose", action="store_true", help="show sizes and calls of B, too")
    parser.add_argument("--max-samples", type=count(0), default=10, help="elements to show of each tensor that differs")
    options = parser.parse_args(arguments)
    return run_tool(lambda: _print_differences(options))


def _print_differences(options: argparse.Namespace) -> None:
    data_a, data_b = (read_file(existing(file)) for file in (options.file_a, options.file_b))
    if data_a == data_b:  # then `diff_pte` reads neither
        try:
            deserialize_pte_binary(data_a)
        except ValueError as error:
            raise CommandError(f"{options.file_a} cannot be read: {error}") from error
    result = diff_pte(data_a, data_b, options.file_a, options.file_b, options.max_samples)
    if result.error:
        raise CommandError(result.error)
    print(format_diff_result(result, verbose=options.verbose))


if __name__ == "__main__":
    sys.exit(main())
