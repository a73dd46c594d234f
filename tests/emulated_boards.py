# SPDX-License-Identifier: BSD-3-Clause
"""Builds firmware and runs it on boards that QEMU emulates."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 60


def tool(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is missing; on Debian: apt-get install {package}")
    return found


def run(*command: str | Path, timeout: float | None = None, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
    )


def succeed(*command: str | Path) -> str:
    done = run(*command)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def emulate(
    board: str, image: Path, folder: Path = ROOT, options: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs an image; `folder` is where it writes files, `options` are further ones of QEMU."""
    qemu = tool("qemu-system-arm", "qemu-system-arm")
    options = [
        *options,
        "-nographic",
        "-monitor",
        "none",
        "-serial",
        "none",
        "-semihosting-config",
        "enable=on,target=native",
    ]
    done = run(qemu, "-M", board, *options, "-kernel", image, timeout=TIMEOUT_S, folder=folder)
    # Semihosting writes to the standard error.
    done.stdout = done.stderr + done.stdout
    return done


def example(module: str) -> Any:
    """A module of examples/cortex_m."""
    sys.path.insert(0, str(ROOT / "examples/cortex_m"))
    try:
        return import_module(module)
    finally:
        sys.path.remove(str(ROOT / "examples/cortex_m"))


def write_program(folder: Path, program: bytes, inputs: Any, expected: Any) -> Path:
    """Writes a program for the firmware of examples/cortex_m, with a case that the firmware checks."""
    export = example("export_model")
    folder.mkdir(parents=True, exist_ok=True)
    case = export.CASE.format(inputs=export.numbers(inputs), expected=export.numbers(expected))
    (folder / "model_case.h").write_text(case)
    (folder / "model.pte").write_bytes(program)
    return folder / "model.pte"
