# SPDX-License-Identifier: BSD-3-Clause
"""scripts/api_reference: its Doxyfile, and its errors."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "api_reference"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return runpy.run_path(str(SCRIPT))


def test_the_front_page_links_every_public_header(script: dict[str, Any]) -> None:
    headers = script["public_headers"]()
    page = script["front_page"](headers)
    assert all(header.relative_to(ROOT / "sdk" / "cpp").as_posix() in page for header in headers)


def test_doxygen_reads_the_c_interface_too(script: dict[str, Any], tmp_path: Path) -> None:
    text = script["settings"](tmp_path, [*script["public_headers"](), *script["C_HEADERS"]], "1.0")
    assert "extension/c_api/executorch.h" in text
    assert "extension/module/module.h" in text


def test_without_doxygen_it_says_how_to_get_it(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "reference"], env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert made.returncode == 1
    assert "apt-get install doxygen" in made.stderr
    assert not (tmp_path / "reference").exists()


def test_an_unknown_option_prints_the_usage() -> None:
    made = subprocess.run([sys.executable, SCRIPT, "--html"], capture_output=True, text=True, check=False)
    assert made.returncode == 2
    assert "scripts/api_reference FOLDER" in made.stderr
