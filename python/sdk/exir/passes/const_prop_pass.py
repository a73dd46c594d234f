# SPDX-License-Identifier: BSD-3-Clause
"""Computes ahead of time, within a graph module, what depends on its constant attributes only.

Weights of an exported program are inputs of its graph; `constant_prop_pass` is the pass that folds them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from sdk.exir.pass_base import ExportPass, NodeMetadata, ProxyValue


class ConstPropPass(ExportPass):
    """Replaces an operator whose arguments are all known by its result. Quantising operators stay, unless
    `propogate_quant`: a dequantised weight is larger than the quantised one."""

    def __init__(self, propogate_quant: bool = False) -> None:
        super().__init__()
        self.propogate_quant = propogate_quant

    def call_operator(self, op: Any, args: tuple, kwargs: dict, meta: NodeMetadata) -> Any:
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        known = any(isinstance(leaf, torch.Tensor) for leaf in leaves)
        if not known or any(isinstance(leaf, ProxyValue) for leaf in leaves) or self._is_kept(op):
            return super().call_operator(op, args, kwargs, meta)
        with unset_fake_temporarily(), torch.no_grad():
            return op(*args, **kwargs)

    def _is_kept(self, op: Any) -> bool:
        tags = getattr(op, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags:
            return True
        return not self.propogate_quant and getattr(op, "namespace", "") == "quantized_decomposed"
