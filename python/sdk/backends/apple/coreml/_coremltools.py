# SPDX-License-Identifier: BSD-3-Clause
"""Imports coremltools where it is used: it is in the extra `coreml`, and `import sdk` must work without it."""

from __future__ import annotations

import io
import logging
from contextlib import redirect_stderr
from functools import cache
from typing import Any

VERSION = "9.0"


@cache
def coremltools() -> Any:
    """The module `coremltools`.

    Raises:
        ImportError: it is not installed. The message says how to install it.
    """
    log = logging.getLogger("coremltools")
    level = log.level
    log.setLevel(logging.ERROR)  # outside macOS it warns about Apple's libraries, which conversion does not need
    try:
        with redirect_stderr(io.StringIO()):
            import coremltools as found
    except ImportError as error:
        raise ImportError(
            "Core ML programs are made with the package coremltools, which cannot be imported: "
            f"{error}. Install it with "
            f"`pip install coremltools=={VERSION}`."
        ) from error
    finally:
        log.setLevel(level)
    return found
