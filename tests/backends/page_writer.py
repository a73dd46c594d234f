# SPDX-License-Identifier: BSD-3-Clause
"""Runs the conformance suite for its page, docs/generated/conformance.md."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import runtime_under_test

runtime_under_test.load()

from backends import page  # noqa: E402
from backends.cases import OPERATORS  # noqa: E402
from backends.conformance import Outcome, examine_operator  # noqa: E402
from backends.targets import targets  # noqa: E402


def text(chosen_names: Sequence[str]) -> str:
    """Returns the page with new cells for the chosen operators (or all) in the chosen columns (or all that this machine
    can run). Other cells do not change. Raises ValueError for a name that is neither an operator with calls nor a
    column, and for an operator with a wrong result."""
    warnings.simplefilter("ignore")
    columns = {target.name: target for target in targets() if not target.is_kernels}
    names = [name for name in chosen_names if name not in columns]
    if unknown := set(names) - set(OPERATORS):
        raise ValueError(
            f"{', '.join(sorted(unknown))}: expected operators that tests/backends/cases calls, or columns of "
            f"{', '.join(columns)}"
        )
    chosen_columns = [columns[name] for name in chosen_names if name in columns] or list(columns.values())
    cells = dict(page.read())
    if not names:  # operators that are no longer there
        cells = {key: cell for key, cell in cells.items() if key[0] in OPERATORS}
    chosen = list(names) or list(OPERATORS)
    for number, name in enumerate(chosen, 1):
        _show(f"\r{number} of {len(chosen)}: {name}\033[K")
        for target in chosen_columns:
            cells[name, target.name] = examine_operator(name, target)
    _show("\r\033[K")
    failed = [
        f"{name} on {column} fails: {cell.reasons[0]}"
        for (name, column), cell in cells.items()
        if cell.outcome is Outcome.FAILED
    ]
    if failed:
        raise ValueError("\n".join([*failed, "The page was not written: fix these first."]))
    return page.render(cells)


def _show(line: str) -> None:
    if sys.stderr.isatty():
        print(line, end="", file=sys.stderr, flush=True)
