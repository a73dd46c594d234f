# SPDX-License-Identifier: BSD-3-Clause
"""`ConcatObserver`: the parts of a concatenation get the range of the result, so that none is requantised."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, Node
from torchao.quantization.pt2e import UniformQuantizationObserverBase

from sdk.backends.qualcomm.utils.constants import DEFAULT_EPS_FP32


class ConcatObserver(UniformQuantizationObserverBase):
    """The range of a concatenation, which it gives to the observers of the parts.

    Args:
        node_name: The name of the concatenation.
        graph: The graph of the model, which `prepare_pt2e` changes in place.
        dtype: The dtype of the integers.
        qscheme: A scheme with one scale.
        kwargs: The arguments of torchao's observers.
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        node_name: str,
        graph: Graph,
        dtype: torch.dtype = torch.uint8,
        qscheme: torch.qscheme = torch.per_tensor_affine,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("eps", DEFAULT_EPS_FP32)
        super().__init__(dtype=dtype, qscheme=qscheme, **kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf")))
        self.register_buffer("max_val", torch.tensor(float("-inf")))
        (self._concatenation,) = (node for node in graph.nodes if node.name == node_name)

    def forward(self, x_orig: Tensor) -> Tensor:
        low, high = torch.aminmax(x_orig.detach())
        self.min_val, self.max_val = torch.minimum(self.min_val, low), torch.maximum(self.max_val, high)
        parts: Any = self._concatenation.args[0]
        for observer in map(_observer_of, parts):
            if observer is not None:
                observer.min_val, observer.max_val = self.min_val.clone(), self.max_val.clone()
        return x_orig

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scale and zero point."""
        found: tuple[Tensor, Tensor] = self._calculate_qparams(self.min_val, self.max_val)
        return found


def _observer_of(node: Node) -> Any:
    """The observer that a node calls, if it has a range; otherwise None."""
    owner = node.graph.owning_module
    if node.op != "call_module" or owner is None:
        return None
    found = owner.get_submodule(str(node.target))
    return found if hasattr(found, "min_val") else None
