# SPDX-License-Identifier: BSD-3-Clause
"""sdk/android/sizes.py: the output of `scripts/build_android_library.sh --size`; concurrent runs wait for each other
(AND-07)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ANDROID = ROOT / "sdk/android"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("cc") or not shutil.which("strip"), reason="needs ELF tools"
)


def sizes(*files: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ANDROID / "sizes.py", *files], capture_output=True, text=True, check=False)


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def raw_deflate(data: bytes) -> int:
    """zlib's format has 2 bytes before and 4 bytes after."""
    return len(zlib.compress(data, 9)) - 6


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "library.c").write_text(
        "static int unseen(int x) { return x * 3; }\nint seen(int x) { return unseen(x); }\n"
    )
    path = tmp_path / "libexecutorch.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-g", "-o", path, tmp_path / "library.c"], check=True)
    return path


def test_a_library_is_stripped_first(library: Path, tmp_path: Path) -> None:
    found = sizes(f"one={library}")
    assert found.stderr == ""
    [[name, abi, stripped, compressed]] = rows(found.stdout)
    assert (name, abi in {"x86_64", "arm64-v8a"}) == ("one", True)
    bytes_ = int(stripped.replace(",", ""))
    assert 0 < int(compressed.replace(",", "")) < bytes_ < library.stat().st_size


def test_an_aar_has_a_row_for_each_abi_and_one_for_its_classes(library: Path, tmp_path: Path) -> None:
    aar = tmp_path / "executorch.aar"
    data, classes = library.read_bytes(), b"classes" * 100
    with zipfile.ZipFile(aar, "w") as archive:
        archive.writestr("jni/x86_64/libexecutorch.so", data)
        archive.writestr("jni/arm64-v8a/libexecutorch.so", data[:18] + (183).to_bytes(2, "little") + data[20:])
        archive.writestr("classes.jar", classes)
    found = rows(sizes(str(aar)).stdout)
    assert [(row[0], row[1]) for row in found][::2] == [
        ("executorch.aar", "arm64-v8a"),
        ("executorch.aar, classes before R8", "all"),
    ]
    assert found[1][2:] == [f"{len(data):,}", f"{raw_deflate(data):,}"]
    assert found[2][2:] == [f"{len(classes):,}", f"{raw_deflate(classes):,}"]


def test_other_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no library, no AAR")
    with zipfile.ZipFile(tmp_path / "empty.aar", "w") as archive:
        archive.writestr("R.txt", "")
    for name, words in {
        "text": "expected a shared library or an AAR",
        "empty.aar": "jni/<ABI>",
        "none": "none",
    }.items():
        found = sizes(str(tmp_path / name))
        assert found.returncode == 1
        assert found.stdout == ""
        assert words in found.stderr


@pytest.mark.skipif(not shutil.which("flock"), reason="needs flock")
def test_a_second_run_waits_for_the_first(tmp_path: Path) -> None:
    script = (
        f'source {ROOT}/scripts/environment.sh; source {ANDROID}/tools.sh; alone "$1/build"; date +%s%N; sleep "$2"'
    )
    command = ["bash", "-euo", "pipefail", "-c", script, "bash", str(tmp_path)]
    with subprocess.Popen([*command, "1"], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        began = int(first.stdout.readline())
        second = subprocess.run([*command, "0"], capture_output=True, text=True, check=True)
        waiting, time_ = second.stdout.splitlines()
        assert "another run uses" in waiting
        assert int(time_) - began >= 0.9e9
    third = subprocess.run([*command, "0"], capture_output=True, text=True, check=True)
    assert int(third.stdout) <= time.time_ns()
