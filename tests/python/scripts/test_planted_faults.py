# SPDX-License-Identifier: BSD-3-Clause
"""scripts/gate/planted_faults: its faults fit the current files. The long step planted-faults runs it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    name = "planted_faults"
    monkeypatch.setitem(sys.modules, name, sys)  # dataclasses look up the module
    return runpy.run_path(str(ROOT / "scripts/gate/planted_faults"), run_name=name)


def test_each_fault_changes_one_place(script: dict[str, object]) -> None:
    faults = script["FAULTS"]
    assert isinstance(faults, dict) and {"kernel", "binding", "page"} <= faults.keys()
    for fault in faults.values():
        assert (ROOT / fault.file).read_text(encoding="utf-8").count(fault.before) == 1, fault.file
        assert fault.before != fault.after


def test_an_unknown_fault_is_named(script: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    main = script["main"]
    assert callable(main)
    with pytest.raises(SystemExit):
        main(["kernel", "nothing"])
    assert "there is no fault nothing; expected: kernel, binding, page" in capsys.readouterr().err
