# SPDX-License-Identifier: BSD-3-Clause
"""Models of libraries: a model that torch.export captures works in both modes, if docs/generated/models.md says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from zoo.libraries import page
from zoo.libraries.case import Model
from zoo.libraries.examine import Cell, Result, own_error, run_eager
from zoo.libraries.examine import _compare as compare

TESTS = Path(__file__).resolve().parents[2]


def results(folder: Path, *arguments: str) -> list[Result]:
    """The results of `python -m zoo.libraries`, in a separate interpreter, because it loads the libraries and forks."""
    file = folder / "results.jsonl"
    command = [sys.executable, "-m", "zoo.libraries", "--results", str(file), *arguments]
    ran = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True, check=False
    )
    assert file.exists(), ran.stderr[-2000:]
    return [Result.read(json.loads(line)) for line in file.read_text().splitlines()]


def check(found: Sequence[Result]) -> None:
    """Checks that captured models work, except for the exceptions on the page, and that the page says the same about
    its models."""
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
    assert not stale, "docs/generated/models.md is not up to date (`scripts/pages models` writes it):\n" + "\n".join(
        stale
    )
    assert len(exceptions) <= 3, f"more than three exceptions: {exceptions}"


class AfterALargeSum(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + 1e4) - 1e4


def test_a_model_that_magnifies_rounding_has_a_larger_limit_and_no_other() -> None:
    """Float32 numbers near 10,000 are 2^-10 apart, so that a sum is rounded by up to 2^-11; the difference is exact."""
    x = torch.linspace(0.5, 1, 1000)
    for module, least, most in ((AfterALargeSum(), 2**-12, 1.01 * 2**-11), (torch.nn.Identity(), 0, 2**-22)):
        model = Model(module, lambda size: [(x,)], (None,))
        wanted = run_eager(model, [(x,)])
        error = own_error(model, [(x,)], wanted)
        assert least <= error <= most
        limit = max(1e-4, 3 * error)
        for factor, right in ((0.9, True), (1.1, False)):
            found = [wanted[0][0] + factor * limit * wanted[0][0].max()]
            if right:
                compare(found, wanted[0], Cell(), lambda error=error: error)
            else:
                with pytest.raises(AssertionError, match="differs by"):
                    compare(found, wanted[0], Cell(), lambda error=error: error)


@pytest.mark.always
def test_models_of_the_gate(tmp_path: Path) -> None:
    """A few small models of each library: the whole takes hours."""
    check(results(tmp_path, "--few"))


@pytest.mark.slow
def test_all_models(tmp_path: Path) -> None:
    check(results(tmp_path, "--all"))
