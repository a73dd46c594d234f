# SPDX-License-Identifier: BSD-3-Clause
"""docs/generated/operators.md: which operators are right in which dtypes, according to the conformance tests."""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterator
from pathlib import Path

import torch
from conformance import DTYPES, RARE_DTYPES, MismatchError, check, record, tolerances
from extra_calls import EXTRA_CALLS, record_extra
from known_gaps import ACCEPTED, GAPS, NOT_REACHED
from probe import accepted
from recorder import Call, library_operators
from torch.testing._internal.common_methods_invocations import op_db

PAGE = Path(__file__).resolve().parents[3] / "docs" / "generated" / "operators.md"

Table = dict[str, dict[str, str]]
"""operator -> dtype -> "yes", "partly", "no" (see known_gaps.py), REFUSED, or "" (nothing calls it)."""

REFUSED = "-"
"""Eager refuses the dtype."""

SAMPLES_OF_PAGE = 3
"""The number of samples of each function and dtype that are called for the page."""

_COLUMNS = tuple(str(dtype).removeprefix("torch.") for dtype in (*DTYPES, *RARE_DTYPES))

_HEAD = """# Operators of the portable library

Each operator of `kernels/portable/functions.yaml` with the dtypes in which the conformance tests
(`tests/python/operators`) have called it and found what PyTorch eager gives, within the tolerances of PyTorch's tests.
The calls come from PyTorch's operator database; the dtype is that of the first tensor.

- `yes`: every call gives what eager gives;
- `partly`, `no`: some or all calls do not, for the reason given below the table;
- `-`: eager itself refuses the operator in this dtype, when it is called as in the other dtypes.

`scripts/pages operators` writes this page.

"""


def _calls(limit: int) -> Iterator[tuple[Call, dict[torch.dtype, tuple[float, float]]]]:
    for op in op_db:
        for dtype in DTYPES if not op.name.startswith("jiterator_") else ():
            if dtype in op.supported_dtypes("cpu"):
                limits = tolerances(op, dtype)
                yield from ((call, limits) for call in record(op, dtype, limit) if call.error is None)
    for name, (_, dtypes) in EXTRA_CALLS.items():
        for dtype in dtypes:
            yield from ((call, tolerances(None, dtype)) for call in record_extra(name, dtype))


def make_table(limit: int) -> Table:
    """Runs the first `limit` samples of each operator, and probes the dtypes that no sample has."""
    table: Table = {name: dict.fromkeys(_COLUMNS, "") for name in sorted(library_operators())}
    templates: dict[str, dict[torch.dtype, list[Call]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    seen: set[str] = set()
    for call, limits in _calls(limit):
        column = str(call.dtype).removeprefix("torch.")
        if call.key() in seen or column not in _COLUMNS:
            continue
        seen.add(call.key())
        if call.dtype in DTYPES:
            templates[call.name][call.dtype].append(call)
        _enter(table, call, limits)
    for name, by_dtype in templates.items():
        calls = by_dtype[min(by_dtype, key=DTYPES.index)]
        # For tensors without elements or dimensions, eager accepts dtypes for which it has no arithmetic.
        full = [call for call in calls if all(tensor.numel() > 0 for tensor in call.tensors())]
        calls = [call for call in full if call.tensors() and call.tensors()[0].dim() > 0] or full or calls
        for dtype in (*DTYPES, *RARE_DTYPES):
            column = str(dtype).removeprefix("torch.")
            if not table[name][column]:
                variants = accepted(calls, dtype)
                table[name][column] = "" if variants else REFUSED
                for variant in variants:
                    _enter(table, variant, tolerances(None, dtype), column)
    return table


def _enter(table: Table, call: Call, limits: dict[torch.dtype, tuple[float, float]], column: str | None = None) -> None:
    """Makes the call and enters its result into the table."""
    column = column or str(call.dtype).removeprefix("torch.")
    before = table[call.name][column]
    try:
        check(call, limits)
        table[call.name][column] = {"": "yes", "no": "partly"}.get(before, before)
    except MismatchError as mismatch:
        table[call.name][column] = {"": "no", "yes": "partly"}.get(before, before)
        MISMATCHES.setdefault((call.name, column), str(mismatch))


MISMATCHES: dict[tuple[str, str], str] = {}
"""The first mismatch of each cell of the last make_table."""


def render(table: Table) -> str:
    """The page."""
    lines = ["| operator | " + " | ".join(_COLUMNS) + " |", "|---" * (len(_COLUMNS) + 1) + "|"]
    lines += [f"| `{name}` | " + " | ".join(row.values()) + " |" for name, row in table.items()]
    text = _HEAD + "\n".join(lines) + "\n"
    for title, entries in (
        ("Called elsewhere", {f"`{name}`": reason for name, reason in NOT_REACHED.items()}),
        ("Gaps", {f"`{name}`, {dtype}": reason for (name, dtype), reason in GAPS.items()}),
        ("Accepted, although eager refuses", {f"`{name}`": reason for name, reason in ACCEPTED.items()}),
    ):
        if entries:
            text += f"\n## {title}\n\n" + "".join(f"- {name}: {reason}.\n" for name, reason in entries.items())
    return text


@functools.cache
def read_table() -> Table:
    """The table in the page."""
    table: Table = collections.defaultdict(dict)
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `"):
            name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            table[name.strip("`")] = dict(zip(_COLUMNS, cells, strict=True))
    return dict(table)
