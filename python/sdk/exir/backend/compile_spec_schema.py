# SPDX-License-Identifier: BSD-3-Clause
"""`CompileSpec`: an option that a user passes to a backend and that the backend finds again at run time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class CompileSpec:
    """A key with an opaque value. Backends define their own keys."""

    key: str
    value: bytes
