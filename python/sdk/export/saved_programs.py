# SPDX-License-Identifier: BSD-3-Clause
"""Loads programs that were captured before from `.pt2` files."""

from __future__ import annotations

import logging
import os

from torch.export import ExportedProgram


def load_programs(path: str | os.PathLike[str]) -> dict[str, ExportedProgram]:
    """The programs of a file that `torch.export.save` (one program, the method "forward") or
    `torch.export.pt2_archive._package.package_pt2` (any number, by name) has written.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no exported program.
    """
    from torch.export.pt2_archive._package import load_pt2

    path = os.fspath(path)
    if not os.path.isfile(path):  # noqa: PTH113 (a str is what load_pt2 takes)
        raise FileNotFoundError(f"There is no file `{path}`.")
    # torch logs a traceback before it raises.
    log = logging.getLogger("torch.export")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        programs = dict(load_pt2(path).exported_programs)
    except Exception as error:
        raise ValueError(
            f"`{path}` could not be read as a program saved by torch.export.save(): {str(error).splitlines()[0]}"
        ) from error
    finally:
        log.setLevel(level)
    if not programs:
        raise ValueError(f"`{path}` holds no exported program; expected what torch.export.save() writes.")
    # torch.export.save() calls the only program of a file "model".
    return {"forward": programs["model"]} if list(programs) == ["model"] else programs
