# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def _followed(path: Path) -> Path:
    """The file that a symbolic link leads to, if this user or root owns the link; otherwise `path`. Another user's link
    is not followed, so that nobody else chooses which of the user's files is replaced. Raises FileNotFoundError for a
    link of this user or root to a file that does not exist."""
    if path.is_symlink() and path.lstat().st_uid in (0, getattr(os, "geteuid", int)()):
        return Path(os.path.realpath(path, strict=True))
    return path


def write_atomically(path: Path, data: Any) -> None:
    """Writes a file as `replaced` does. `data` has a method `write_to_file`, or is text or bytes."""
    with replaced(path) as temporary, temporary.open("wb") as file:
        if hasattr(data, "write_to_file"):
            data.write_to_file(file)
        else:
            file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """An empty temporary file with the ending of `path`, which is renamed when the block ends, so that `path`, or the
    file that it leads to as a symbolic link, has either the complete new contents or the old ones."""
    path = _followed(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
