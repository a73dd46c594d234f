# SPDX-License-Identifier: BSD-3-Clause
"""The Python package `openvino`, which compiles models. Importing this module does not import it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

REQUIREMENT = "openvino==2025.4.1"
VARIABLE = "OPENVINO_LIB_PATH"
"""The environment variable with the path where the runtime looks first for OpenVINO's C interface."""


def openvino() -> Any:
    """Returns the module `openvino`. Raises ImportError, with what to install, if it is missing."""
    try:
        import openvino
        from openvino.frontend.pytorch import fx_decoder  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"exporting for OpenVINO needs its package ({error}): pip install '{REQUIREMENT}' packaging"
        ) from error
    show_library_to_runtime()
    return openvino


def show_library_to_runtime() -> None:
    """Sets OPENVINO_LIB_PATH to the libraries of the package `openvino`, so that this process runs programs with the
    release that compiled them. Does nothing if the variable is set or the libraries are elsewhere."""
    spec = importlib.util.find_spec("openvino")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        folder = Path(place) / "libs"
        if folder.is_dir():
            os.environ.setdefault(VARIABLE, str(folder))
