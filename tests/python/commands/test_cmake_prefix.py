# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk --cmake-prefix`, beside a stand-in of the wheel pte-sdk-cpp. tests/release builds the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import sdk


def cmake_prefix(folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "sdk", "--cmake-prefix"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})


def stand_in(folder: Path, version: str) -> Path:
    package = folder / "pte_sdk_cpp"
    package.mkdir()
    text = f"__version__ = {version!r}\n\n\ndef cmake_prefix():\n    return {str(package)!r}\n"
    (package / "__init__.py").write_text(text)
    return package


def test_prints_the_folder_of_the_package(tmp_path: Path) -> None:
    package = stand_in(tmp_path, sdk.__version__)
    done = cmake_prefix(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{package}\n", "")


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    # A module of the name that cannot be imported hides an installed one.
    (tmp_path / "pte_sdk_cpp.py").write_text("raise ModuleNotFoundError(name='pte_sdk_cpp')\n")
    done = cmake_prefix(tmp_path)
    assert done.returncode == 1
    assert done.stderr == "sdk: --cmake-prefix needs the C++ package: pip install 'pte-sdk[cpp]'\n"


def test_a_package_of_another_version_is_refused(tmp_path: Path) -> None:
    stand_in(tmp_path, "0.0.1")
    done = cmake_prefix(tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    expected = (
        f"the C++ package is of version 0.0.1, expected {sdk.__version__}: pip install 'pte-sdk-cpp=={sdk.__version__}'"
    )
    assert done.stderr == f"sdk: {expected}\n"
