# SPDX-License-Identifier: BSD-3-Clause
"""Passes that replace operators without a kernel by several operators that have kernels."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any, ClassVar

from torch.fx import Node

from sdk.backends.cadence.aot.node_pass import NodePass, dtype_of, insert
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_CUBIC = 0.044715


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class DecomposeAtenApproxGeluPass(NodePass):
    """Replaces GELU with approximate="tanh" by x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.gelu.default,)

    def rewrite(self, node: Node) -> Node | None:
        if get_arg(node, "approximate") != "tanh":
            return None
        x = node.args[0]

        def number(constant: float) -> Node:
            return insert(node, _aten.full.default, [1], constant, dtype=dtype_of(node))

        square = insert(node, _aten.mul.Tensor, x, x)
        cube = insert(node, _aten.mul.Tensor, square, x)
        scaled = insert(node, _aten.mul.Tensor, cube, number(_CUBIC))
        inner = insert(node, _aten.mul.Tensor, insert(node, _aten.add.Tensor, x, scaled), number(sqrt(2 / pi)))
        bent = insert(node, _aten.add.Tensor, insert(node, _aten.tanh.default, inner), number(1.0))
        half = insert(node, _aten.mul.Tensor, x, number(0.5))
        return insert(node, _aten.mul.Tensor, half, bent)


class CadenceDecomposeOpsInGraph:
    """The passes of this file. They are not in the default order, because a portable kernel computes GELU in one
    call."""

    passes: ClassVar[list[Any]] = [DecomposeAtenApproxGeluPass]
