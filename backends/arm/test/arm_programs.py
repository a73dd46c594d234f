# SPDX-License-Identifier: BSD-3-Clause
"""Programs in C++ that tests compile with sanitizers."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PLATFORM = ROOT / "sdk/cpp/executorch/runtime/platform"
_SANITIZED = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def sanitized_program(main: str, folder: Path, sources: Sequence[Path], flags: Sequence[str] = _SANITIZED) -> Path:
    """Compiles the program of a file in this folder and `sources`, whose headers are in `folder`, with AddressSanitizer
    and UndefinedBehaviorSanitizer unless `flags` say otherwise. The same sources are compiled once."""
    names = ("abort.cpp", "log.cpp", "platform.cpp", "runtime.cpp", "default/posix.cpp")
    files = [*sources, Path(__file__).with_name(main), *(PLATFORM / name for name in names)]
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'sdk/cpp'}", f"-I{folder}", *flags]
    text = b"".join(path.read_bytes() for path in [*files, *sorted(folder.parent.rglob("*.h"))])
    programs = ROOT / ".cache/arm-programs"
    programs.mkdir(parents=True, exist_ok=True)
    program = programs / f"{Path(main).stem}-{hashlib.sha256(text + ' '.join(options).encode()).hexdigest()[:16]}"
    with (programs / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers wait for it
        if not program.exists():
            made = program.with_suffix(".new")
            compiler = os.environ.get("CXX", "c++")
            subprocess.run([compiler, *options, *map(str, files), "-o", str(made)], check=True)
            made.rename(program)
    return program
