# SPDX-License-Identifier: BSD-3-Clause
"""Every operator of the portable library against PyTorch's own samples, dtype by dtype (operator conformance).

A test is one entry of PyTorch's operator database: all calls of our operators in its samples are made again in the
runtime, each as a separate program, and compared with eager by the tolerances of PyTorch's tests. The normal run
takes the first samples of each dtype, the one marked slow all of them.
"""

from __future__ import annotations

import collections

import pytest
from conformance import DTYPES, RARE_DTYPES, MismatchError, check, check_refused, record, record_errors, tolerances
from extra_calls import EXTRA_CALLS, record_extra
from known_gaps import ACCEPTED, GAPS, NOT_REACHED
from operator_table import REFUSED, read_table
from probe import accepted, promotes
from recorder import Call, library_operators
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo

SAMPLES = 3
"""Samples of each dtype in the normal run."""

CANNOT_RUN = "jiterator_"
"""OpInfos of functions for GPUs."""

_OP_INFOS = [op for op in op_db if not op.name.startswith(CANNOT_RUN)]
_seen: set[str] = set()
_probed: set[str] = set()


def compare(op: OpInfo, limit: int | None) -> None:
    """Fails with all mismatches at once that the table of gaps does not name."""
    found: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for dtype in DTYPES:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        limits = tolerances(op, dtype)
        for call in record(op, dtype, limit):
            # Operators share calls; a call that differs only in its numbers adds nothing.
            if call.error is not None or call.key() in _seen:
                continue
            _seen.add(call.key())
            probe(call)
            try:
                check(call, limits)
            except MismatchError as mismatch:
                found[call.name, str(call.dtype).removeprefix("torch.")].append(str(mismatch))
    new = [text for cell, texts in found.items() if cell not in GAPS for text in texts]
    assert not new, "\n\n".join(new[:20])


def probe(call: Call) -> None:
    """Makes the first call of an operator in every dtype. Eager refuses the dtypes that the table lists, and the
    runtime agrees with it in the others. For tensors without elements or dimensions, eager accepts dtypes for which it
    has no arithmetic."""
    tensors = call.tensors()
    has_none = any(tensor.numel() == 0 for tensor in tensors) or (tensors and tensors[0].dim() == 0)
    if call.name in _probed or call.name in NOT_REACHED or has_none:
        return
    _probed.add(call.name)
    row = read_table().get(call.name)
    assert row is not None, f"docs/generated/operators.md has no row of {call.name}: run scripts/pages operators"
    for dtype in (*DTYPES, *RARE_DTYPES):
        column = str(dtype).removeprefix("torch.")
        variants = accepted([call], dtype)
        assert row[column] != REFUSED or all(promotes(variant, dtype) for variant in variants), (
            f"eager takes {call.name} in {column}: run scripts/pages operators"
        )
        for variant in variants:
            if (call.name, column) not in GAPS:
                check(variant)


@pytest.mark.sampled
@pytest.mark.parametrize("op", _OP_INFOS, ids=lambda op: op.full_name)
def test_first_samples_agree_with_eager(op: OpInfo) -> None:
    compare(op, SAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("op", _OP_INFOS, ids=lambda op: op.full_name)
def test_all_samples_agree_with_eager(op: OpInfo) -> None:
    compare(op, None)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "op", [op for op in _OP_INFOS if op.error_inputs_func is not None], ids=lambda op: op.full_name
)
def test_what_eager_refuses_is_an_error(op: OpInfo) -> None:
    for call in record_errors(op):
        is_accepted = call.name in ACCEPTED and any(tensor.numel() == 0 for tensor in call.tensors())
        if not is_accepted:
            check_refused(call)


@pytest.mark.parametrize("name", sorted(EXTRA_CALLS))
def test_calls_that_no_op_info_makes_agree_with_eager(name: str) -> None:
    _, dtypes = EXTRA_CALLS[name]
    for dtype in dtypes:
        for call in record_extra(name, dtype):
            check(call)


def test_every_operator_has_a_row() -> None:
    table = read_table()
    assert set(table) == set(library_operators()), "run scripts/pages operators"
    untested = {name for name, row in table.items() if not any(row.values())}
    assert untested == set(NOT_REACHED)


def test_no_cell_is_empty() -> None:
    """Every operator that the tests can call is right in a dtype, has a known gap, or eager refuses it."""
    empty = {(name, dtype) for name, row in read_table().items() for dtype, cell in row.items() if not cell}
    assert {name for name, _ in empty} <= set(NOT_REACHED)


def test_the_gaps_are_those_of_the_table() -> None:
    table = read_table()
    gaps = {(name, dtype) for name, row in table.items() for dtype, cell in row.items() if cell in ("partly", "no")}
    assert gaps == set(GAPS), "run scripts/pages operators, and take closed gaps out of known_gaps.py"
