# SPDX-License-Identifier: BSD-3-Clause
"""Exports a module as a program in one call, as the original's examples do. `python -m sdk.export` does more."""

from __future__ import annotations

from sdk.extension.export_util.utils import export_to_edge, export_to_exec_prog, save_pte_program

__all__ = ["export_to_edge", "export_to_exec_prog", "save_pte_program"]
