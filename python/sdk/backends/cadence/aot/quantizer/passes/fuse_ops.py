# SPDX-License-Identifier: BSD-3-Clause
"""`FuseQATConvBN`: batch norms of models that were trained with fake quantisation."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils._pytree import tree_map_only

from sdk.backends.cadence.aot.pass_utils import fake_value, get_arg, set_arg
from sdk.backends.cadence.aot.quantizer.pattern_utils import DQ_PER_TENSOR, Q_PER_TENSOR, dequantized, source_of
from sdk.exir.graph.constants import add_constant, constant_of
from sdk.exir.graph.fake import fake_mode_of

_aten = torch.ops.aten
_CONVOLUTIONS = (_aten.conv1d.default, _aten.conv2d.default, _aten.convolution.default)
_NORMS = (_aten.batch_norm.default, _aten._native_batch_norm_legit_no_training.default)
_INT32 = torch.iinfo(torch.int32)
_TOLERANCE = 1e-4
"""The tolerance for the difference between the scale in the weights and that of the batch norm."""


@dataclass
class _Chain:
    """A convolution whose weights contain the scale of a batch norm, and the division that undoes it before the batch
    norm."""

    conv: Node
    rounded: Node | None
    """The dequantize node after the convolution, if its result is quantised there."""
    scale: Tensor
    bias: Tensor


def _per_channel(numbers: Tensor, conv: Node, channels: int) -> Tensor | None:
    """Returns one number for each channel of a convolution's result, or one for all. Returns None if other dimensions
    have several numbers."""
    rank = get_arg(conv, "weight").meta["val"].dim()
    if numbers.numel() != 1:
        sizes = (1,) * (rank - numbers.dim()) + tuple(numbers.shape)
        if sizes != (1, channels, *[1] * (rank - 2)):
            return None
    # A result without a batch has its channels in the first dimension, a batch norm in the second.
    return numbers.double().flatten() if numbers.dim() <= rank == conv.meta["val"].dim() else None


class FuseQATConvBN(PassBase):
    """Folds a batch norm into the bias of its convolution. Training with fake quantisation scales the weights like the
    batch norm and divides the result by this scale before the batch norm, so that only the bias is left to fold.

    A convolution without a bias gets an int32 bias. Batch norms after other calls stay as they are. If torchao has
    folded the batch norm of a convolution that was trained without a bias, the new bias has no observer and no scale,
    so it becomes int32, too.
    """

    def __init__(self, exported_program: ExportedProgram, default_zero_bias: bool = True) -> None:
        super().__init__()
        self.exported_program = exported_program
        self.default_zero_bias = default_zero_bias

    def call(self, graph_module: GraphModule) -> PassResult:
        """Folds the batch norms of the program's graph."""
        changed = False
        for node in list(graph_module.graph.nodes):
            if node.op != "call_function":
                continue
            if node.target in _NORMS:
                changed |= self._fold(node)
            elif node.target in _CONVOLUTIONS:
                changed |= self._quantize_bias(node)
        if changed:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, changed)

    def _fold(self, norm: Node) -> bool:
        chain = self._chain(norm)
        statistics = [self._value(get_arg(norm, name)) for name in ("weight", "bias", "running_mean", "running_var")]
        results = self._results(norm)
        if chain is None or not results or not all(isinstance(each, Tensor) for each in statistics):
            return False
        gamma, beta, mean, variance = (each.double() for each in statistics if each is not None)
        scale = gamma / torch.sqrt(variance + get_arg(norm, "eps", float))
        divisor, bias = (_per_channel(each, chain.conv, len(scale)) for each in (chain.scale, chain.bias))
        if divisor is None or bias is None or not torch.allclose(scale, divisor, rtol=_TOLERANCE):
            return False
        if not self._add_to_bias(chain.conv, (bias - mean) * scale + beta):
            return False
        # The range of the quantisation before the batch norm does not include the bias, so a later one is used.
        rounds_later = all(self._is_rounded(each) for each in results)
        for each in results:
            each.replace_all_uses_with(chain.conv if chain.rounded is None or rounds_later else chain.rounded)
        return True

    @staticmethod
    def _results(norm: Node) -> list[Node]:
        """Returns the nodes of the batch norm's result, or an empty list if its statistics are used, too."""
        if norm.target == _aten.batch_norm.default:
            return [] if get_arg(norm, "training") else [norm]
        used = [user for user in norm.users if user.users]
        return used if all(user.target is operator.getitem and user.args[1] == 0 for user in used) else []

    @staticmethod
    def _is_rounded(node: Node) -> bool:
        users = list(node.users)
        if len(users) == 1 and users[0].target in (_aten.relu.default, _aten.relu_.default):
            users = list(users[0].users)
        return bool(users) and all(user.target == Q_PER_TENSOR for user in users)

    def _chain(self, norm: Node) -> _Chain | None:
        source = norm.args[0]
        bias: Tensor | None = torch.zeros(())
        between: list[Node] = []
        if isinstance(source, Node) and source.target == _aten.add.Tensor and not source.kwargs:
            between.append(source)
            source, bias = source.args[0], self._value(source.args[1])
        if not isinstance(source, Node) or source.target != _aten.div.Tensor or bias is None:
            return None
        between.append(source)
        scale, conv = self._value(source.args[1]), source.args[0]
        rounded = dequantized(conv)
        if rounded is not None:
            quantize = rounded.args[0]
            if not isinstance(quantize, Node) or quantize.target != Q_PER_TENSOR:
                return None
            between += [rounded, quantize]
            conv = quantize.args[0]
        if scale is None or not isinstance(conv, Node) or conv.target not in _CONVOLUTIONS:
            return None
        # Other users of the convolution or of the nodes after it would get the folded bias, too.
        if any(len(each.users) != 1 for each in (conv, *between)):
            return None
        return _Chain(conv, rounded, scale, bias)

    def _value(self, argument: Any) -> Tensor | None:
        """Returns the tensor of an argument if it is computed only from constants, else None."""
        if not isinstance(argument, Node):
            return None
        if argument.op != "call_function":
            return constant_of(self.exported_program, argument)
        values = {node: self._value(node) for node in argument.all_input_nodes}
        if not values or any(value is None for value in values.values()) or not callable(argument.target):
            return None
        args, kwargs = tree_map_only(Node, values.__getitem__, (argument.args, argument.kwargs))
        with torch.no_grad():
            found: Tensor = argument.target(*args, **kwargs)
        return found

    def _quantize_bias(self, conv: Node) -> bool:
        """Quantises a constant bias of floats if the convolution's other operands and its result are quantised."""
        bias = get_arg(conv, "bias")
        if not isinstance(bias, Node) or dequantized(bias) is not None or not self._is_rounded(conv):
            return False
        stored = self._value(bias)
        return stored is not None and self._add_to_bias(conv, torch.zeros_like(stored, dtype=torch.float64))

    def _add_to_bias(self, conv: Node, more: Tensor) -> bool:
        """Adds real numbers to the bias of a convolution."""
        x, weight, bias = (get_arg(conv, name) for name in ("input", "weight", "bias"))
        dq_bias = dequantized(bias)
        old: Tensor | None = torch.zeros_like(more)
        if dq_bias is not None:
            integers, scale, zero = source_of(dq_bias)
            stored = self._value(integers)
            old = None if stored is None else (stored.double() - zero) * scale
        else:
            dq_x, dq_weight = dequantized(x), dequantized(weight)
            if dq_x is None or dq_weight is None or (bias is None and not self.default_zero_bias):
                return False
            scale, zero = source_of(dq_x)[1] * source_of(dq_weight)[1], 0
            if bias is not None:
                stored = self._value(bias)
                old = None if stored is None else stored.double()
        if old is None:
            return False
        rounded = torch.round((old + more) / scale) + zero
        self._set_bias(conv, rounded.clamp(_INT32.min, _INT32.max).to(torch.int32), scale, zero)
        return True

    def _set_bias(self, conv: Node, integers: Tensor, scale: float, zero: int) -> None:
        program = self.exported_program
        constant = add_constant(program, fake_mode_of(program.graph_module), f"{conv.name}_folded_bias", integers)
        arguments = (constant, scale, zero, _INT32.min, _INT32.max, torch.int32)
        with conv.graph.inserting_before(conv):
            real = conv.graph.call_function(DQ_PER_TENSOR, arguments)
        real.meta["val"] = fake_value(DQ_PER_TENSOR, arguments, {}, constant)
        set_arg(conv, "bias", real)
