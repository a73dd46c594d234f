# SPDX-License-Identifier: BSD-3-Clause
"""Turn a PyTorch model into a .pte program."""

from __future__ import annotations

import sys

from sdk.export.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
