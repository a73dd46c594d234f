# SPDX-License-Identifier: BSD-3-Clause
"""Models of libraries: what torch.export captures works in both modes, if docs/models.md says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from zoo.libraries import page
from zoo.libraries.examine import Result

TESTS = Path(__file__).resolve().parents[2]


def results(folder: Path, *arguments: str) -> list[Result]:
    """What `python -m zoo.libraries` finds, in an interpreter of its own: it loads the libraries and forks."""
    file = folder / "results.jsonl"
    command = [sys.executable, "-m", "zoo.libraries", "--results", str(file), *arguments]
    ran = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True, check=False
    )
    assert file.exists(), ran.stderr[-2000:]
    return [Result.read(json.loads(line)) for line in file.read_text().splitlines()]


def check(found: Sequence[Result]) -> None:
    """What is captured works, but for the exceptions on the page, and the page says the same of the models it has."""
    rows = page.rows_of_page()
    exceptions = [name for name, cells in rows.items() if any(cell.startswith(page.FAILS) for cell in cells)]
    assert found
    wrong = [f"{each.name}: {page.row(each)[1:]}" for each in found if not each.works and each.name not in exceptions]
    assert not wrong, "\n".join(wrong)
    stale = [
        f"{each.name} is now {page.row(each)[1:]}"
        for each in found
        if each.name in rows and page.row(each)[1:] != rows[each.name]
    ]
    assert not stale, "docs/models.md is not up to date (scripts/zoo writes it):\n" + "\n".join(stale)
    assert len(exceptions) <= 3, f"more than three exceptions: {exceptions}"


def test_models_of_the_gate(tmp_path: Path) -> None:
    """A few small models of each library: the whole takes hours."""
    check(results(tmp_path, "--few"))


@pytest.mark.slow
def test_all_models(tmp_path: Path) -> None:
    check(results(tmp_path, "--all"))
