# SPDX-License-Identifier: BSD-3-Clause
"""Paths on command lines."""

from __future__ import annotations

import argparse
from pathlib import Path


def file_path(text: str) -> Path:
    """A path. `Path("")` is the current folder, but an empty argument is often a variable of a script that is not
    set."""
    if not text:
        raise argparse.ArgumentTypeError("expected a path, found an empty argument")
    return Path(text)
