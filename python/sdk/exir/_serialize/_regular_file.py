# SPDX-License-Identifier: BSD-3-Clause
"""Opens files that a user names. Refuses pipes, which would block until something is written, and devices, which may
have no end."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any


class JSONFileError(ValueError):
    """A file that is not JSON. The message begins with its path."""


def regular(path: str | os.PathLike[str]) -> Path:
    """The path, unless it is a pipe, a device or a socket: those raise OSError."""
    found = Path(path)
    if found.exists() and not found.is_file() and not found.is_dir():
        problem = "expected a file, found a device or a pipe: write its content to a file first"
        raise OSError(errno.EINVAL, problem, str(found))
    return found


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a file. Raises OSError, also for what `regular` refuses."""
    return regular(path).read_bytes()


def read_json(path: str | os.PathLike[str]) -> Any:
    """The value of a JSON file. Raises JSONFileError, and OSError for what `read_file` cannot read."""
    data = read_file(path)
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        message = f"{path}, line {error.lineno}, column {error.colno}: {error.msg}"
    except UnicodeDecodeError as error:
        message = f"{path}: expected text in {error.encoding}, found the byte {data[error.start]:#04x} at {error.start}"
    except RecursionError:
        message = f"{path}: the JSON nests too deep"
    except ValueError as error:  # a number of thousands of digits
        message = f"{path}: {error}"
    raise JSONFileError(message)
