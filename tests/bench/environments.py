# SPDX-License-Identifier: BSD-3-Clause
"""The Python of each engine, in an environment that is created on first use."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from bench.engines import declaration, module_of
from bench.worker import ROOT

MAKE = ROOT / "tests/interop/make_oracle.py"
REQUIREMENTS = ROOT / "tests/bench/requirements.txt"
ENGINES = ROOT / "tests/bench/engines"


def _made(*arguments: str) -> str:
    command = [sys.executable, str(MAKE), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@cache
def oracle_python() -> str:
    """The Python with the original and onnxruntime, which also writes the programs of engines without torch.
    `PTE_SDK_ORACLE_PYTHON` names an existing one.
    """
    return os.environ.get("PTE_SDK_ORACLE_PYTHON") or _made(str(REQUIREMENTS))


@cache
def own_python(module: str) -> str:
    """The Python with the packages of `module`'s NAME.txt. `PTE_SDK_PEERS` names a folder with an existing environment
    NAME for each module.
    """
    if folder := os.environ.get("PTE_SDK_PEERS"):
        return str(Path(folder) / module / "bin" / "python")
    return _made("--into", module, str(ENGINES / f"{module}.txt"))


def python_of(engine: str, writes: bool = False) -> str:
    """The Python that runs `engine`, or that writes its programs."""
    declared = declaration(engine)
    kind = declared.writer if writes else declared.environment
    if kind == "sdk":
        return sys.executable
    return oracle_python() if kind == "oracle" else own_python(module_of(engine))
