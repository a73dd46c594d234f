# SPDX-License-Identifier: BSD-3-Clause
"""Passes that fold a batch norm into the convolution before it. They need parameters as attributes of the graph module;
`sdk.backends.transforms.fold_affine` folds batch norms of an exported program."""

from __future__ import annotations

import math
import operator
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.nn.utils.fusion import fuse_conv_bn_weights

from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.backends.transforms.permute_pass_utils import RemoveOrReplacePassInterface
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_quantized = exir_ops.edge.quantized
_STATISTICS = ("weight", "bias")


def _attribute(module: GraphModule, node: Any) -> Any:
    """Returns the value of a get_attr node, or None for other nodes."""
    if not isinstance(node, Node) or node.op != "get_attr":
        return None
    value: Any = module
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value


def _add_attribute(node: Node, name: str, value: Any) -> Node:
    """Inserts a get_attr node of a new attribute before a node."""
    module = node.graph.owning_module
    assert module is not None
    setattr(module, name, value)
    with node.graph.inserting_before(node):
        return node.graph.get_attr(name)


def _only_user(node: Node, *targets: Any) -> Node | None:
    user = next(iter(node.users)) if len(node.users) == 1 else None
    return user if user is not None and user.target in targets else None


class _BatchNormPass(RemoveOrReplacePassInterface):
    def __init__(self) -> None:
        super().__init__()
        self.counter = 0

    @staticmethod
    def parameters(module: GraphModule, norm: Node, *names: str) -> list[Tensor] | None:
        """Returns the parameters and statistics of a batch norm, or None unless all are attributes."""
        found = [_attribute(module, get_arg(norm, name)) for name in names]
        return found if all(isinstance(each, Tensor) for each in found) else None


def _folded(
    weight: Tensor, bias: Tensor | None, numbers: tuple[Any, ...], transposed_groups: int | None
) -> tuple[Tensor, Tensor]:
    """Folds a batch norm into the weights and the bias of a convolution. A transposed convolution has its output
    channels in the second dimension of the weights, separately for each group; they are joined for the folding."""
    if transposed_groups is None:
        plain: tuple[Tensor, Tensor] = fuse_conv_bn_weights(weight, bias, *numbers, False)
        return plain
    all_groups = torch.cat(weight.chunk(transposed_groups), 1)
    folded, new_bias = fuse_conv_bn_weights(all_groups, bias, *numbers, True)
    return torch.cat(folded.chunk(transposed_groups, 1)), new_bias


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseBatchNormWithConv(_BatchNormPass):
    """Folds a batch norm into the convolution before it if the convolution has no other user."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.convolution.default,)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        module = node.graph.owning_module
        norm = _only_user(node, _aten.native_batch_norm.default)
        if module is None or norm is None or get_arg(norm, "training"):
            return False
        if any(user.target is not operator.getitem or user.args[1] != 0 for user in norm.users):
            return False
        statistics = self.parameters(module, norm, "running_mean", "running_var", *_STATISTICS)
        weight, bias_node = _attribute(module, get_arg(node, "weight")), get_arg(node, "bias")
        bias = _attribute(module, bias_node)
        if statistics is None or not isinstance(weight, Tensor) or (bias is None and bias_node is not None):
            return False
        mean, variance, gamma, beta = statistics
        numbers = (mean, variance, get_arg(norm, "eps"), gamma, beta)
        groups = get_arg(node, "groups") if get_arg(node, "transposed") else None
        fused = _folded(weight, bias, numbers, groups)
        for at, (name, tensor) in enumerate(zip(_STATISTICS, fused, strict=True)):
            node.update_arg(at + 1, _add_attribute(node, f"_fused_with_bn_{name}_{self.counter}", tensor))
        for user in list(norm.users):
            user.replace_all_uses_with(node)
        self.counter += 1
        return True


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class FuseQuantizedBatchNormWithConv(_BatchNormPass):
    """Folds a batch norm into a quantised convolution of PyTorch with packed weights. The result has the scale and the
    zero point of the batch norm. The weights keep their scale."""

    _convolutions: ClassVar[dict[Any, Any]] = {
        _quantized.conv1d.default: torch.ops.quantized.conv1d_prepack,
        _quantized.conv2d.new: torch.ops.quantized.conv2d_prepack,
    }
    _norms = (_quantized.batch_norm1d.default, _quantized.batch_norm2d.default)
    targets: ClassVar[tuple[Any, ...]] = tuple(_convolutions)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        module, norm = node.graph.owning_module, _only_user(node, *self._norms)
        if module is None or norm is None:
            return False
        scales = [get_arg(each, "output_scale") for each in (node, norm)]
        zeros = [get_arg(each, "output_zero_point") for each in (node, norm)]
        packed = _attribute(module, get_arg(node, "packed_weight"))
        statistics = self.parameters(module, norm, "mean", "var", *_STATISTICS)
        if packed is None or statistics is None or zeros[0] != zeros[1]:
            return False
        if not math.isclose(*scales, rel_tol=1e-5, abs_tol=1e-5):
            return False
        weight, bias = packed.unpack()
        mean, variance, gamma, beta = statistics
        numbers = (mean, variance, get_arg(norm, "eps"), gamma, beta, False)
        new_weight, new_bias = (t.detach() for t in fuse_conv_bn_weights(weight.dequantize(), bias, *numbers))
        places = (packed.stride(), packed.padding(), packed.dilation(), packed.groups())
        repacked = self._convolutions[node.target](_quantized_like(weight, new_weight), new_bias, *places)
        node.update_arg(1, _add_attribute(node, f"_fused_with_bn_packed_{self.counter}", repacked))
        norm.replace_all_uses_with(node)
        node.graph.erase_node(norm)
        self.counter += 1
        return True


def _quantized_like(weight: Tensor, values: Tensor) -> Tensor:
    """Quantises values with the parameters of weights."""
    if weight.qscheme() == torch.per_tensor_affine:
        return torch.quantize_per_tensor(values, weight.q_scale(), weight.q_zero_point(), weight.dtype)
    parameters = (weight.q_per_channel_scales(), weight.q_per_channel_zero_points(), weight.q_per_channel_axis())
    return torch.quantize_per_channel(values, *parameters, weight.dtype)
