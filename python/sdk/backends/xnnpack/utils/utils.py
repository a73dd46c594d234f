# SPDX-License-Identifier: BSD-3-Clause
"""Constants of a program."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.xnnpack.constants import get_constant


def get_param_tensor(exp_prog: ExportedProgram, node: Node | None) -> torch.Tensor | None:
    """The tensor of a node that stands for a parameter, an unchanged buffer or a constant; None for any other."""
    return get_constant(exp_prog, node)
