# SPDX-License-Identifier: BSD-3-Clause
"""An export writes all of its files or none, also if it fails or is interrupted between two of them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sdk.export.cli import files, main, pipeline
from sdk.export.cli.errors import CommandError

NAMES = ("report.html", "weights.ptd", "net.pte")


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "copies"])
@pytest.mark.parametrize("old", [(), NAMES, NAMES[:1], NAMES[2:]], ids=["none", "all", "first", "last"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=["full disk", "interrupt"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_move_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, error: BaseException, old: tuple[str, ...], links: bool
) -> None:
    made, place = tmp_path / "made", tmp_path / "place"
    made.mkdir()
    place.mkdir()
    for name in NAMES:
        (made / name).write_text("new")
    for name in old:
        (place / name).write_text(f"old {name}")
    before = contents(place)
    replace = Path.replace

    def fail(self: Path, target: Path) -> Path:
        if Path(target) == place / NAMES[at] and self.name == "new":
            raise error
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    expected: type[BaseException] = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else CommandError
    with pytest.raises(expected):
        files.publish({made / name: place / name for name in NAMES})
    assert contents(place) == before
    monkeypatch.setattr(Path, "replace", replace)
    for name in NAMES:
        (made / name).write_text("new")
    files.publish({made / name: place / name for name in NAMES})
    assert contents(place) == dict.fromkeys(NAMES, "new")


def _no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, "no hard links here")


def test_a_file_on_another_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made").write_text("new")
    replace = Path.replace

    def across(self: Path, target: Path) -> Path:
        if self == tmp_path / "made":
            raise OSError(errno.EXDEV, "cross-device link")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", across)
    files.publish({tmp_path / "made": tmp_path / "net.pte"})
    assert (tmp_path / "net.pte").read_text() == "new"


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("owner", "name", "said", "is_written"),
    [
        (pipeline, "write_program", "stopped; nothing was written.", False),
        (files, "_keep", "stopped; nothing was written.", False),
        (pipeline, "show_summary", "net.pte` is complete.", True),
    ],
)
def test_the_message_of_an_interrupt(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    owner: object,
    name: str,
    said: str,
    is_written: bool,
) -> None:
    (tmp_path / "net.py").write_text("import torch\n\nnet = torch.nn.Linear(8, 4)\n")
    output, report = tmp_path / "net.pte", tmp_path / "report.json"
    output.write_text("old")
    stop: Callable[..., None] = _stop
    monkeypatch.setattr(owner, name, stop)
    arguments = [f"{tmp_path / 'net.py'}:net", "--input", "1x8:float32", "-o", str(output), "--report", str(report)]
    assert main([*arguments, "--no-verify", "--backend", "portable"]) == 130
    assert said in capsys.readouterr().err
    assert report.exists() == is_written and (output.read_bytes() != b"old") == is_written
    assert {path.name for path in tmp_path.iterdir()} <= {"net.py", "net.pte", "report.json", "__pycache__"}
