# SPDX-License-Identifier: BSD-3-Clause
"""Writes files into a temporary folder and renames them, so that a file is never incomplete."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sdk.export.cli.errors import CommandError


def check_writable(paths: Iterable[Path]) -> None:
    """Raises CommandError before the export begins if a file cannot be written."""
    for path in paths:
        folder = path.resolve().parent
        if path.is_dir():
            raise CommandError(f"`{path}` is a folder; name a file to write.")
        if not folder.is_dir():
            raise CommandError(f"`{path}` cannot be written: there is no folder `{path.parent}`. Create it first.")
        if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            raise CommandError(f"`{path}` cannot be written: you have no permission to write there.")


@contextmanager
def temporary_beside(output: Path) -> Iterator[Path]:
    """A temporary folder on the file system of `output`, so that complete files in it can be renamed.

    It is removed when the block ends. An OSError in the block becomes a CommandError about `output`.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=f".{output.stem}-", dir=output.resolve().parent) as folder:
            yield Path(folder)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            why = "the disk is full. Free some space and try again"
        else:
            why = error.strerror or str(error)
        raise CommandError(f"`{output}` could not be written: {why}. Nothing was left behind.") from error


def write_program(manager: Any, program: Path) -> Path | None:
    """Writes `program`, and its external weights into the same folder; returns the path of the weights or None."""
    with program.open("wb") as file:
        manager.write_to_file(file)
    manager.write_tensor_data_to_file(str(program.parent))
    return next(iter(sorted(program.parent.glob("*.ptd"))), None)


def publish(complete: Path, place: Path) -> None:
    """Moves a complete file to its final path and replaces an older one."""
    try:
        complete.replace(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # A rename cannot reach another file system, so first copy the file there under a temporary name.
        with temporary_beside(place) as folder:
            copy = folder / place.name
            copy.write_bytes(complete.read_bytes())
            copy.replace(place)
