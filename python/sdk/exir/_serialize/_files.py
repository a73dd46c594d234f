# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any


def write_atomically(path: Path, data: Any) -> None:
    """Writes a temporary file and renames it, so that `path` has either the complete new contents or the old ones."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            data.write_to_file(file)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
