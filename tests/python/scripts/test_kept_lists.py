# SPDX-License-Identifier: BSD-3-Clause
"""The script that replaces Python in CMake files that list kernels: it keeps what the first start wrote."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

TEMPLATE = next((Path(__file__).resolve().parents[3] / "backends").glob("*/kept_lists.sh.in"))
LIST = "cmake/gen/microkernels.cmake"
PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then exec python3 "$@"; fi
echo "$*" >>'{starts}'
case "$1" in
  */update-microkernels.py)
    mkdir -p "$3/cmake/gen" "$3/gen"
    echo list >"$3/cmake/gen/microkernels.cmake"
    echo b >"$3/gen/a.bzl"
    ;;
esac
"""


class Script:
    """The configured script, with a Python that writes small lists and records its starts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kept, self.starts = folder, folder / "kept here" / ".lists", folder / "starts"
        self.kept.parent.mkdir()
        python = self.written("python", PYTHON.format(starts=self.starts))
        text = TEMPLATE.read_text(encoding="utf-8")
        self.path = self.written("script", text.replace("@real_python@", str(python)).replace("@kept@", str(self.kept)))

    def written(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def lists(self, build: str) -> str:
        """Runs the script for a build folder and returns the lists that it writes there."""
        output = self.folder / build
        subprocess.run([self.path, "tools/update-microkernels.py", "--output", output], check=True)
        assert (output / "gen/a.bzl").read_text() == "b\n"
        return (output / LIST).read_text()

    def count(self) -> int:
        return len(self.starts.read_text().splitlines())


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


def test_the_second_start_copies_the_lists(script: Script) -> None:
    assert script.lists("one") == "list\n" and script.count() == 1
    assert stat.S_IMODE(script.kept.stat().st_mode) == 0o755
    (script.kept / LIST).write_text("kept\n")
    assert script.lists("two") == "kept\n" and script.count() == 1
    assert list(script.kept.parent.iterdir()) == [script.kept]  # nothing else is left


def test_an_incomplete_folder_is_not_copied(script: Script) -> None:
    (script.kept / "cmake").mkdir(parents=True)
    assert script.lists("one") == "list\n" and script.count() == 1
    assert list(script.kept.parent.iterdir()) == [script.kept]


def test_a_folder_that_cannot_be_written_is_no_error(script: Script) -> None:
    script.kept.parent.rmdir()
    script.kept.parent.write_text("a file: also root cannot make a folder in it")
    assert script.lists("one") == script.lists("two") == "list\n" and script.count() == 2


def test_other_scripts_are_passed_on(script: Script) -> None:
    subprocess.run([script.path, "other.py", "a b"], check=True)
    assert script.starts.read_text() == "other.py a b\n"
