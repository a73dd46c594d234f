# SPDX-License-Identifier: BSD-3-Clause
"""The front door: `python -m sdk.export MODEL` turns a PyTorch model into a `.pte` program.

The command lives in `sdk.export.cli`; it is built on `sdk.exir`, which is the API to use from Python.
"""

from __future__ import annotations
