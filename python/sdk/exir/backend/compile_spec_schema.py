# SPDX-License-Identifier: BSD-3-Clause
"""`CompileSpec`: an option that a user passes to a backend and that the backend finds again at run time."""

from __future__ import annotations

from sdk.exir.schema import CompileSpec

__all__ = ["CompileSpec"]
