# SPDX-License-Identifier: BSD-3-Clause
"""The scales and zero points of a program, which are checked before it is divided."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import QUANTIZE
from sdk.backends.transforms.constants import get_constant
from sdk.backends.xnnpack.utils.quant_utils import validate_quant_scales, validate_quant_zeropoints
from sdk.backends.xnnpack.weights import NAMES
from sdk.exir._messages import add_context
from sdk.exir.backend.utils import kept_graphs


def check_parameters(program: ExportedProgram) -> None:
    """Checks the scales and zero points of int8 that are known when the program is compiled.

    Raises:
        ValueError: a scale is not a positive normal number, or a zero point is beyond int8. Such a model is damaged.
    """
    for module in kept_graphs(program.graph_module):
        for node in module.graph.nodes:
            if name_of(node) in (QUANTIZE, *NAMES) and torch.int8 in node.args:
                _check(program, node)


def _check(program: ExportedProgram, node: Node) -> None:
    # torchao's operators have the size of blocks before the scale.
    scale, zero_point = [argument for argument in node.args[1:] if not isinstance(argument, (list, tuple))][:2]
    try:
        for parameter, is_scale in ((scale, True), (zero_point, False)):
            value = get_constant(program, parameter) if isinstance(parameter, Node) else parameter
            if value is not None and is_scale:
                validate_quant_scales(value)
            elif value is not None:
                validate_quant_zeropoints(value, torch.int8, False)
    except ValueError as error:
        add_context(error, f"in node {node}")
        raise
