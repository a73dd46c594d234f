# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.backends.test.program_builder` under its earlier name."""

from sdk.backends.test.program_builder import IrMode, ProgramBuilder

__all__ = ["IrMode", "ProgramBuilder"]
