# SPDX-License-Identifier: BSD-3-Clause
"""Saving programs by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdk.exir import ExecutorchProgramManager


def save_pte_program(prog: ExecutorchProgramManager, model_name: str, output_dir: str = "") -> str:
    """Writes `<model_name>.pte` (the ending may be given), and its external data beside it, to `output_dir`.

    The default is the working directory; the directory is made if there is none. Returns the file's path. An existing
    file is replaced as a whole or, if something fails, not at all.
    """
    name = model_name if model_name.endswith(".pte") else f"{model_name}.pte"
    path = Path(output_dir) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    prog.save(path)
    return str(path)
