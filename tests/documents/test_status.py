# SPDX-License-Identifier: BSD-3-Clause
"""docs/status.yaml: each kind of error is reported with the entry, the field and the remedy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import status  # noqa: E402

Change = Callable[[dict[str, Any]], Any]


def changed(tmp_path: Path, change: Change) -> Path:
    """A copy of the files that the check reads, with another status."""
    data = yaml.safe_load((ROOT / status.FILE).read_text(encoding="utf-8"))
    change(data)
    for name in ROOT.iterdir():
        if name.name != "docs":
            (tmp_path / name.name).symlink_to(name)
    (tmp_path / "docs").mkdir()
    for name in (ROOT / "docs").iterdir():
        (tmp_path / "docs" / name.name).symlink_to(name)
    (tmp_path / status.FILE).unlink()
    (tmp_path / status.FILE).write_text(yaml.safe_dump(data), encoding="utf-8")
    return tmp_path


def test_an_unchanged_copy_is_right(tmp_path: Path) -> None:
    assert status.read(changed(tmp_path, lambda data: None)) == status.read()


WRONG: dict[str, tuple[Change, str]] = {
    "no evidence": (lambda data: data["systems"][0].pop("by"), r"systems\[0\] has no field 'by'. Add it."),
    "empty evidence": (
        lambda data: data["sizes"]["core-cortex-m4"].update(by=[]),
        r"sizes.core-cortex-m4.by is empty. Name the command or file",
    ),
    "no such file": (
        lambda data: data["systems"][1].update(by=["tests/none.py"]),
        r"systems\[1\].by has 'tests/none.py', and there is no tests/none.py. Name a command or file",
    ),
    "no such step": (
        lambda data: data["systems"][1].update(by=["scripts/test.sh cpp riscv"]),
        r"systems\[1\].by has 'scripts/test.sh cpp riscv', and the gate has no step 'riscv'",
    ),
    "no emulator": (lambda data: data["systems"][1].update(what="all"), r"systems\[1\].what does not say in what"),
    "unknown field": (
        lambda data: data["backends"][0].update(pages="a.md"),
        r"backends\[0\] has the unknown field 'pages'. Remove it, or write one of title, systems",
    ),
    "unknown section": (
        lambda data: data.update(devices=[]),
        r"no section 'devices'. Remove it, or write one of systems",
    ),
    "missing section": (lambda data: data.pop("sizes"), r"the section 'sizes' is missing. Add it: bytes, limit"),
    "unknown state": (
        lambda data: data["systems"][0].update(state="works"),
        r"systems\[0\].state is 'works'. Write one of run, emulated, compiled.",
    ),
    "wrong type": (
        lambda data: data["sizes"]["core-cortex-m4"].update(bytes="24 kB"),
        r"sizes.core-cortex-m4.bytes is '24 kB', expected int.",
    ),
    "a release that is not tried": (
        lambda data: data["releases"]["python"].pop(),
        r"releases.python has 3.10, 3.11, 3.12, 3.13, and pyproject.toml declares 3.10, 3.11, 3.12, 3.13, 3.14. Run",
    ),
    "two releases of the gate": (
        lambda data: data["releases"]["python"][0].update(tests="all"),
        r"releases.python needs one release with `tests: all`",
    ),
    "tests that are not named": (
        lambda data: data["releases"]["pytorch"][1].pop("text"),
        r"releases.pytorch\[1\] has no field 'text'. Say which tests ran.",
    ),
    "a point without evidence": (
        lambda data: data["ecosystem"]["Android"][0].update(text="it holds"),
        r"ecosystem.Android\[0\].text names nothing that shows the state yes",
    ),
    "a point without a reason for not holding": (
        lambda data: data["ecosystem"]["Android"][0].update(state="no"),
        r"ecosystem.Android\[0\].needs says why a point does not hold",
    ),
    "points out of order": (lambda data: data["ecosystem"]["Python"].reverse(), r"not numbered from 1 in order"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str, tmp_path: Path) -> None:
    change, message = WRONG[name]
    with pytest.raises(status.StatusError, match=rf"docs/status.yaml: .*{message}"):
        status.read(changed(tmp_path, change))


def test_an_unknown_figure_is_named() -> None:
    with pytest.raises(status.StatusError, match=r"\{sizes\} in 'of \{sizes\}' is not a figure. Write one of python"):
        status.filled("of {sizes}", status.figures(status.read()))
