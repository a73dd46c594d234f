# SPDX-License-Identifier: BSD-3-Clause
"""Modules of language models compute the same as the original's modules of the same names."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from module_numbers import numbers

from interop.originals import ROOT, InOriginal

pytestmark = [pytest.mark.oracle, pytest.mark.network]


def test_modules_compute_the_original_s_numbers(in_original: InOriginal, tmp_path: Path) -> None:
    """LE-09, LO-09: caches with their masks, attention, rotations, static attention with its decoders."""
    in_original(ROOT / "tests/interop/module_numbers.py", "executorch", tmp_path / "numbers.pt")
    expected = torch.load(tmp_path / "numbers.pt")
    found = numbers("sdk")
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(
            found[name], value, rtol=1e-4, atol=1e-4, msg=lambda text, name=name: f"{name}: {text}"
        )
