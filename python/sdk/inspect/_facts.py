# SPDX-License-Identifier: BSD-3-Clause
"""`facts`: describes a file of any kind."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sdk.command import CommandError, describe, existing
from sdk.command.tools import UNREADABLE
from sdk.inspect._kinds import NAMES, kind_of

RECORDS = ("etdump", "etrecord")
"""The kinds that the Inspector reads."""


def facts(path: Path, models_folder: Path | None = None) -> dict[str, Any]:
    """The facts of a file, as `sdk inspect FILE --json` prints them. The models of backends in a program are written to
    `models_folder`, which must not exist, if it is not None.

    Raises CommandError if the file does not exist, is of another kind or is damaged, or if it has no models to write.
    """
    kind = kind_of(existing(path))
    found = {"kind": kind, "path": str(path), "bytes": path.stat().st_size, **read(path, kind, _reader(kind))}
    if kind == "pte":
        from sdk.inspect._models import models

        found["models"] = models(path, found, models_folder)
    elif models_folder is not None:
        raise CommandError(f"--models writes what is in a program (.pte), found {NAMES[kind]}: pass the .pte")
    return found


def read(path: Path, kind: str, reader: Callable[[Path], Any]) -> Any:
    """Calls `reader` with the file. Raises CommandError if the file is damaged."""
    try:
        return reader(path)
    except CommandError:
        raise
    except UNREADABLE as error:
        if kind in RECORDS:
            from sdk.devtools.inspector._matching import MismatchError

            if isinstance(error, MismatchError):
                raise CommandError(f"`{path}`: {describe(error)}") from error
        said = describe(error).removeprefix(f"{str(path)!r} cannot be read as {NAMES[kind]}: ")
        raise CommandError(f"`{path}` cannot be read as {NAMES[kind]}: {said}") from error


def _reader(kind: str) -> Callable[[Path], dict[str, Any]]:
    if kind in RECORDS:  # their readers need PyTorch, the others do not
        from sdk.inspect import _records

        return {"etdump": _records.dump, "etrecord": _records.record}[kind]
    from sdk.inspect import _program

    return {
        "pte": lambda path: _mapped(path, _program.program),
        "ptd": lambda path: _mapped(path, _program.data_file),
        "bpte": lambda path: _program.bundle(path.read_bytes()),
    }[kind]


def _mapped(path: Path, reader: Callable[[memoryview], dict[str, Any]]) -> dict[str, Any]:
    """Maps a file, so that its data, which may be large, is not read."""
    with path.open("rb") as file:
        # The file is not closed here, because the frames of an exception that is being handled may still have views of
        # it.
        return reader(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
