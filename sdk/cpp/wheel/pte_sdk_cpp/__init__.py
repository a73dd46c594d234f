# SPDX-License-Identifier: BSD-3-Clause
"""The C++ package of pte-sdk: headers, libraries and CMake files in the folder of this package, and executor_runner.

cmake -B build -DCMAKE_PREFIX_PATH="$(python -m sdk --cmake-prefix)"
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

__version__ = version("pte-sdk-cpp")


def cmake_prefix() -> Path:
    """The folder for CMAKE_PREFIX_PATH, with which find_package(executorch) finds the package."""
    return Path(__file__).resolve().parent


def executor_runner() -> int:
    """Runs executor_runner with the arguments of this process; returns its exit status."""
    program = cmake_prefix() / "bin" / ("executor_runner.exe" if sys.platform == "win32" else "executor_runner")
    return subprocess.run([program, *sys.argv[1:]], check=False).returncode
