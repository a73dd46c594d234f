# SPDX-License-Identifier: BSD-3-Clause
"""Turn a PyTorch model into a `.pte` program and run it anywhere.

    sdk.export    exports a model: `python -m sdk.export MODEL`
    sdk.exir      the compiler: `to_edge_transform_and_lower(...).to_executorch()`
    sdk.runtime   runs a `.pte` from Python; does not need torch

Importing `sdk` imports nothing else; each part is loaded by the import that names it.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__"]
