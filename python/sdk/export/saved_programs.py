# SPDX-License-Identifier: BSD-3-Clause
"""Loads programs that were captured before from `.pt2` files."""

from __future__ import annotations

import os
from pathlib import Path

from torch.export import ExportedProgram

from sdk.exir.error import ExportError
from sdk.util.words import no_file


def load_programs(path: str | os.PathLike[str]) -> dict[str, ExportedProgram]:
    """The programs of a file that `torch.export.save` (one program, the method "forward") or
    `torch.export.pt2_archive._package.package_pt2` (any number, by name) has written. Nothing of the file is run.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no exported program, or one that cannot be read without running something of it.
    """
    from sdk.exir.serde._pt2 import Archive

    if not Path(path).is_file():
        raise FileNotFoundError(no_file(path))
    try:
        programs = Archive(path).programs()
    except ExportError as error:
        raise ValueError(
            f"`{os.fspath(path)}` could not be read as a program saved by torch.export.save(): "
            f"{str(error).splitlines()[0]}"
        ) from error
    if not programs:
        raise ValueError(f"`{os.fspath(path)}` holds no exported program; expected what torch.export.save() writes.")
    # torch.export.save() calls the only program of a file "model".
    return {"forward": programs["model"]} if list(programs) == ["model"] else programs
