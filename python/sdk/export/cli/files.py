# SPDX-License-Identifier: BSD-3-Clause
"""Writes files into a temporary folder and renames them, so that a file is never incomplete."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sdk.export.cli.errors import CommandError

_WHY = {
    errno.EACCES: "you have no permission to write there",
    errno.EPERM: "you have no permission to write there",
    errno.EROFS: "its file system is read-only. Name a file on another one",
    errno.ENOSPC: "the disk is full. Free some space and try again",
    errno.EDQUOT: "the disk is full. Free some space and try again",
    errno.ENAMETOOLONG: "the name is too long",
}


def why(error: OSError) -> str:
    """Why a file cannot be written, and what to do."""
    return _WHY.get(error.errno or 0) or error.strerror or str(error)


def check_writable(paths: Iterable[Path]) -> None:
    """Raises CommandError before the export begins if a file cannot be written."""
    for path in paths:
        try:
            _check(path)
        except OSError as error:
            raise CommandError(f"`{path}` cannot be written: {why(error)}.") from error


def _check(path: Path) -> None:
    """Tries whether the file can be written. Raises OSError, or CommandError if a folder is missing."""
    folder = path.resolve().parent
    if path.is_dir():
        raise CommandError(f"`{path}` is a folder; name a file to write.")
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"`{path}` cannot be written: `{path.parent}` is a file. Name a folder, or leave it out.")
    if not folder.is_dir():
        raise CommandError(f"`{path}` cannot be written: there is no folder `{path.parent}`. Create it first.")
    if path.exists() and not path.is_file():
        raise CommandError(f"`{path}` is a device or pipe; name a file to write.")
    # The error of the system says why it refuses; permissions alone do not show that a file system is read-only.
    with tempfile.TemporaryFile(dir=folder):
        pass
    if path.exists():
        with path.open("r+b"):
            pass


@contextmanager
def temporary_beside(output: Path) -> Iterator[Path]:
    """A temporary folder on the file system of `output`, so that complete files in it can be renamed.

    It is removed when the block ends. An OSError in the block becomes a CommandError about `output`.
    """
    try:
        with tempfile.TemporaryDirectory(prefix=f".{output.stem}-", dir=output.parent.resolve()) as folder:
            yield Path(folder)
    except OSError as error:
        raise CommandError(f"`{output}` could not be written: {why(error)}. Nothing was left behind.") from error


def write_program(manager: Any, program: Path) -> Path | None:
    """Writes `program`, and its external weights into the same folder; returns the path of the weights or None."""
    with program.open("wb") as file:
        manager.write_to_file(file)
    manager.write_tensor_data_to_file(str(program.parent))
    return next(iter(sorted(program.parent.glob("*.ptd"))), None)


def publish(files: Mapping[Path, Path]) -> None:
    """Moves complete files to their final paths, in order, and replaces older ones: all, or none if it fails or is
    interrupted. `files` maps the complete files to their paths."""
    with ExitStack() as stack:
        moves = []
        for complete, place in files.items():
            folder = stack.enter_context(temporary_beside(place))
            moves.append((_moved(complete, folder / "new"), folder / "old", place))
        begun: list[tuple[Path, Path]] = []
        try:
            for new, old, place in moves:
                if os.path.lexists(place):
                    _keep(place, old)
                begun.append((old, place))
                new.replace(place)
        except BaseException:
            for old, place in begun:
                if os.path.lexists(old):
                    old.replace(place)
                else:
                    place.unlink(missing_ok=True)
            raise


def _moved(file: Path, place: Path) -> Path:
    try:
        return file.replace(place)
    except OSError as error:
        if error.errno != errno.EXDEV:  # a rename cannot reach another file system
            raise
        return Path(shutil.copyfile(file, place))


def _keep(file: Path, place: Path) -> None:
    """A second name for a file, or a copy where the file system has no hard links."""
    try:
        os.link(file, place, follow_symlinks=False)
    except (OSError, NotImplementedError):
        shutil.copy2(file, place, follow_symlinks=False)
