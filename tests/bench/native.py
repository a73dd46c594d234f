# SPDX-License-Identifier: BSD-3-Clause
"""C++ programs that are built on demand, and measurements in a backend's folder."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from bench.worker import ROOT


def built(target: str, *options: str, folder: str = "bench") -> str:
    """Builds the program `target` in Release, with these options, in build/`folder`, and returns its path. If the
    environment variable SDK_<TARGET> is set, it names a built program to use instead."""
    if found := os.environ.get(f"SDK_{target.upper()}"):
        return found
    build = ROOT / "build" / folder
    given = ["-DCMAKE_BUILD_TYPE=Release", "-DEXECUTORCH_BUILD_TESTS=ON", *(f"-D{option}=ON" for option in options)]
    subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *given], check=True, stdout=sys.stderr)
    subprocess.run(["cmake", "--build", build, "--target", target], check=True, stdout=sys.stderr)
    return str(next(path for path in build.rglob(target) if path.is_file() and os.access(path, os.X_OK)))


def folder_of(backend: str) -> Path:
    """backends/NAME or backends/FAMILY/NAME. Raises ValueError where there is no such backend."""
    for manifest in ROOT.glob("backends/**/backend.json"):
        if manifest.parent.name == backend:
            return manifest.parent
    raise ValueError(f"no folder of backends/ has a manifest (backend.json) for {backend!r}")


def option_of(backend: str) -> str:
    """The CMake option that builds a backend."""
    return str(json.loads((folder_of(backend) / "backend.json").read_text())["option"])


def measurement(backend: str, name: str) -> ModuleType:
    """Imports the module bench/`name`.py of a backend. Raises ValueError if the backend does not have it."""
    path = folder_of(backend) / "bench" / f"{name}.py"
    if not path.exists():
        raise ValueError(f"{backend} has no such measurement: {path.relative_to(ROOT)} is not there")
    found = importlib.util.spec_from_file_location(f"bench_{backend}_{name}", path)
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
