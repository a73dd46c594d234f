# SPDX-License-Identifier: BSD-3-Clause
"""The developer tools that are run as `python -m sdk.devtools...`, with ExecuTorch's arguments."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from zipfile import BadZipFile

from sdk.command import OK, CommandError, describe
from sdk.exir._serialize._flatbuffer import FlatbufferError

UNREADABLE = (FlatbufferError, ValueError, RuntimeError, BadZipFile, EOFError, NotImplementedError, pickle.PickleError)
"""The exceptions of the readers for damaged files."""


def run_tool(run: Callable[[], None]) -> int:
    """Runs a tool. Returns 0, or 1 after one line on stderr if a file cannot be read or written."""
    try:
        run()
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        print(f"error: {named}", file=sys.stderr)
        return 1
    except (CommandError, ImportError, *UNREADABLE) as error:
        print(f"error: {' '.join(describe(error).split())}", file=sys.stderr)
        return 1
    return OK
