# SPDX-License-Identifier: BSD-3-Clause
"""The versions of CMake with which a project with the runner can be configured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]


def configure(version: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Configures the runner with a version of CMake, from its package."""
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), f"cmake=={version}"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cmake {version} cannot be installed: {done.stderr[-200:]}")
    command = [folder / "cmake/data/bin/cmake", "-S", ROOT, "-B", folder / "build"]
    settings = ["-DEXECUTORCH_BUILD_EXTENSION_MODULE=ON", "-DEXECUTORCH_BUILD_EXTENSION_TENSOR=ON"]
    return subprocess.run(
        [*command, *settings, "-DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON"], capture_output=True, text=True, check=False
    )


def test_the_documented_version(tmp_path: Path) -> None:
    """LR-03, RPI-01: CMake 3.29.6."""
    result = configure("3.29.6", tmp_path)
    assert result.returncode == 0, result.stderr


def test_older_versions_stop(tmp_path: Path) -> None:
    """LR-03: the error names the version that is needed."""
    result = configure("3.22.6", tmp_path)
    assert result.returncode != 0 and "CMake 3.24 or higher is required." in result.stderr, result.stderr
