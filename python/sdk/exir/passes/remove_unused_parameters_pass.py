# SPDX-License-Identifier: BSD-3-Clause
"""Drops weights that a program does not read."""

from __future__ import annotations

from torch.export import ExportedProgram

from sdk.exir.graph.programs import copy_program
from sdk.exir.passes.constant_prop_pass import remove_unused_constants


def remove_unused_parameters_pass(ep: ExportedProgram) -> ExportedProgram:
    """A copy of the program without the parameters, buffers and constants that no node uses."""
    return remove_unused_constants(copy_program(ep))
