# SPDX-License-Identifier: BSD-3-Clause
"""`VulkanQuantizer`: quantises the weights of linear layers, for torchao's `prepare_pt2e` and `convert_pt2e`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import QuantizationConfig

from sdk.backends.quantizer.base import BackendQuantizer
from sdk.backends.quantizer.configuration import activations, weights
from sdk.backends.quantizer.patterns import LINEAR, annotate_part

__all__ = ["VulkanQuantizer", "get_symmetric_quantization_config"]


def get_symmetric_quantization_config(
    is_dynamic: bool = False,
    weight_bits: int = 8,
    act_bits: int = 8,
    act_qmin: int | None = None,
    act_qmax: int | None = None,
    weight_qmin: int | None = None,
    weight_qmax: int | None = None,
) -> QuantizationConfig:
    """Symmetric weights with a scale for each output.

    Args:
        is_dynamic: Activations are quantised too, when the model runs.
        weight_bits: 8 or 4.
        act_bits: 8.
        act_qmin, act_qmax: The range of activations as integers; by default all of `act_bits`.
        weight_qmin, weight_qmax: The range of weights as integers.

    Raises:
        ValueError: the backend does not have this number of bits.
    """
    if weight_bits not in (4, 8) or act_bits != 8:
        raise ValueError(f"weights have {weight_bits} bits and activations {act_bits}; expected 4 or 8, and 8")
    half = 1 << (weight_bits - 1)
    weight = weights(
        -half if weight_qmin is None else weight_qmin,
        half - 1 if weight_qmax is None else weight_qmax,
        eps=torch.finfo(torch.float32).eps,
    )
    low, high = -128 if act_qmin is None else act_qmin, 127 if act_qmax is None else act_qmax
    activation = activations(low, high, is_dynamic=True, eps=2**-12) if is_dynamic else None
    return QuantizationConfig(activation, None, weight, None, False)


class VulkanQuantizer(BackendQuantizer):
    """Annotates linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.global_config: QuantizationConfig | None = None
        self.filter_fn: Callable[[Node], bool] | None = None

    def set_global(self, quantization_config: QuantizationConfig) -> VulkanQuantizer:
        """The configuration of all layers."""
        self.global_config = quantization_config
        return self

    def set_filter_function(self, filter_fn: Callable[[Node], bool]) -> VulkanQuantizer:
        """Only nodes for which `filter_fn` returns true are quantised."""
        self.filter_fn = filter_fn
        return self

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates the layers of a captured model, if a configuration was set."""
        if self.global_config is not None:
            for node in model.graph.nodes:
                if node.op == "call_function" and node.target in LINEAR:
                    annotate_part(node, self.global_config, self.filter_fn or (lambda _: True))
        return model

    def validate(self, model: GraphModule) -> None:
        """Accepts every model."""
