# SPDX-License-Identifier: BSD-3-Clause
"""Calls the ML SDK model converter, which makes a VGF file from a TOSA file."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

PACKAGES = ("ai_ml_sdk_model_converter==0.9.0",)
VARIABLE = "MODEL_CONVERTER_PATH"
"""The environment variable with the path of the converter, which is looked at first."""

MAGIC = b"VGF1"
_NAME = "model-converter"
_MOST_LINES = 5  # of a message of the converter


def find_converter() -> Path:
    """Returns the path of the converter: from the environment variable, from PATH, or from the Python package.

    Raises RuntimeError, which says what to install, if it is missing.
    """
    given = os.environ.get(VARIABLE)
    if given:
        if not os.access(given, os.X_OK) or Path(given).is_dir():
            raise RuntimeError(f"{VARIABLE} is {given!r}, which is not a program: set it to the path of {_NAME}")
        return Path(given)
    on_path = shutil.which(_NAME)
    if on_path is not None:
        return Path(on_path)
    package = importlib.util.find_spec("model_converter")
    for folder in (package.submodule_search_locations if package else None) or ():
        for name in (_NAME, f"{_NAME}.exe"):
            program = Path(folder, "binaries", "bin", name)
            if os.access(program, os.X_OK):
                return program
    raise RuntimeError(
        f"VGF files need the ML SDK model converter: pip install {' '.join(PACKAGES)}, or set {VARIABLE} to {_NAME}"
    )


def convert(graph: bytes, flags: Sequence[str] = ()) -> bytes:
    """The VGF file of a TOSA file. `flags` are further options of the converter.

    Raises RuntimeError if the converter is missing, or if it refuses the file, with its message.
    """
    converter = find_converter()
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "graph.tosa"), Path(folder, "graph.vgf")
        given.write_bytes(graph)
        command = [str(converter), "--input", str(given), "--output", str(made), *flags]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise RuntimeError(f"{converter} cannot be run: {error}") from error
        file = made.read_bytes() if made.exists() else b""
    if done.returncode or not file.startswith(MAGIC):
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        message = "\n".join(lines[-_MOST_LINES:]) or "it wrote no VGF file and no message"
        raise RuntimeError(f"{_NAME} {' '.join(flags)} failed with the exit status {done.returncode}:\n{message}")
    return file
