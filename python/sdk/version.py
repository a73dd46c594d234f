# SPDX-License-Identifier: BSD-3-Clause
"""The version of this package, in the module where clients of ExecuTorch look for it."""

from __future__ import annotations

from sdk import __version__

__all__ = ["__version__", "git_version"]

git_version: str | None = None
"""The commit; packages of this SDK do not record it."""
