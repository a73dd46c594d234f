# SPDX-License-Identifier: BSD-3-Clause
"""Passes that call other operators, those with kernels for the processor or cheaper ones."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.backends.cadence.aot.node_pass import (
    NodePass,
    constant_of,
    dim_of,
    dtype_of,
    insert,
    is_call,
    same_shape,
    shape,
    value,
)
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.backends.cadence.aot.replace_convolutions import (
    ReplaceAtenConvolutionWithCadenceConvolutionPass,
    ReplaceConvolutionOptionalArgsWithConcreteArgsPass,
    ReplaceConvWithChannelLastConvPass,
    ReplaceConvWithIm2RowAndLinear,
    ReplaceIm2RowWithViewPass,
    ReplaceMaxPool2dWithChannelLastMaxPool2dPass,
    ReplaceTrivialConvWithLinear,
)
from sdk.backends.transforms.replace_nop_transpose_or_permute_with_view import (
    ReplaceNopTransposeOrPermuteWithViewPass as _ReplaceNopPermute,
)
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_FULL = _aten.full.default


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceLogicalNotBooleanWhereWithWherePass(NodePass):
    """A choice by the opposite of a condition is one with the operands exchanged."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.where.self,)

    def rewrite(self, node: Node) -> Node | None:
        condition, first, second = node.args
        if not isinstance(condition, Node) or not is_call(condition, _aten.logical_not.default):
            return None
        if dtype_of(condition.args[0]) != torch.bool:
            return None
        return insert(node, _aten.where.self, condition.args[0], second, first)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceSafeSoftmaxWithSoftmax(PassBase):
    """Softmax that gives zeros for rows of -inf alone is softmax. Runs before the edge dialect. A row that masks
    everything becomes NaN, as in ExecuTorch."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten._safe_softmax.default):
            with graph_module.graph.inserting_before(node):
                args = (node.args[0], node.args[1], False)
                new = graph_module.graph.call_function(torch.ops.aten._softmax.default, args)
            new.meta = dict(node.meta)
            node.replace_all_uses_with(new)
            graph_module.graph.erase_node(node)
            changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceMulTensorWithMulAndFullOpsPass(PassBase):
    """A product with a number has the number as a constant tensor. Runs before the edge dialect."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor):
            for at, number in enumerate(node.args[:2]):
                if isinstance(number, (bool, int, float)) and "val" in node.meta:
                    self._replace(graph_module, node, at, number)
                    changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)

    @staticmethod
    def _replace(graph_module: GraphModule, node: Node, at: int, number: Any) -> None:
        other = node.args[1 - at]
        result = value(node)
        dtype = result.dtype if isinstance(other, Node) and value(other).dtype == result.dtype else None
        kwargs = {} if dtype is None else {"dtype": dtype}
        with graph_module.graph.inserting_before(node):
            full = graph_module.graph.call_function(torch.ops.aten.full.default, ([1], number), kwargs)
        mode = getattr(result, "fake_mode", None)
        if mode is not None:
            with mode:
                full.meta["val"] = torch.full([1], number, **kwargs)
        if isinstance(other, Node) and value(other).dim() == 0:
            full.args = ([], number)
            if mode is not None:
                with mode:
                    full.meta["val"] = torch.full([], number, **kwargs)
        node.update_arg(at, full)


def _edge_replacement(node: Node, target: Any) -> Node | None:
    parameters = [get_arg(node, name) for name in ("scale", "zero_point", "quant_min", "quant_max", "dtype")]
    numbers = all(isinstance(each, (int, float)) for each in parameters[:4])
    return insert(node, target, node.args[0], *parameters) if numbers else None


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplacePT2QuantWithCadenceQuantPass(NodePass):
    """`cadence::quantize_per_tensor` in place of PyTorch's."""

    targets: ClassVar[tuple[Any, ...]] = (_decomposed.quantize_per_tensor.default,)

    def rewrite(self, node: Node) -> Node | None:
        return _edge_replacement(node, _cadence.quantize_per_tensor.default)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplacePT2DequantWithCadenceDequantPass(NodePass):
    """`cadence::dequantize_per_tensor` in place of PyTorch's."""

    targets: ClassVar[tuple[Any, ...]] = (_decomposed.dequantize_per_tensor.default,)

    def rewrite(self, node: Node) -> Node | None:
        return _edge_replacement(node, _cadence.dequantize_per_tensor.default)


def _view(node: Node, source: Any) -> Node | None:
    sizes = shape(node)
    return insert(node, _aten.view_copy.default, source, sizes) if all(isinstance(s, int) for s in sizes) else None


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceSqueezeAndUnsqueezeWithViewPass(NodePass):
    """Dimensions of size 1 come and go by views."""

    targets: ClassVar[tuple[Any, ...]] = (
        _aten.squeeze_copy.default,
        _aten.squeeze_copy.dim,
        _aten.squeeze_copy.dims,
        _aten.unsqueeze_copy.default,
    )

    def rewrite(self, node: Node) -> Node | None:
        return _view(node, node.args[0])


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceFunctionallyEquivalentOpTargets(NodePass):
    """Operators of one meaning have one name."""

    _names: ClassVar[dict[Any, Any]] = {
        _aten.unsafe_split.Tensor: _aten.split_copy.Tensor,
        _aten.relu_.default: _aten.relu.default,
    }
    targets: ClassVar[tuple[Any, ...]] = tuple(_names)

    def rewrite(self, node: Node) -> Node | None:
        return insert(node, self._names[node.target], *node.args, **node.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceSelectWithViewOpPass(NodePass):
    """The only element along a dimension is a view."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.select_copy.int,)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node.args[0])
        return _view(node, node.args[0]) if sizes[dim_of(get_arg(node, "dim"), len(sizes))] == 1 else None


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceMMWithAddMMPass(NodePass):
    """A product of matrices is addmm with a bias of zeros."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.mm.default,)

    def rewrite(self, node: Node) -> Node | None:
        columns = shape(node)[-1]
        if not isinstance(columns, int):
            return None
        zeros = insert(node, _FULL, [columns], 0.0, dtype=dtype_of(node))
        return insert(node, _aten.addmm.default, zeros, *node.args)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceAddMMWithLinearPass(NodePass):
    """addmm with a row as the bias, or one number, is a linear layer of the transposed weights."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.addmm.default,)

    def rewrite(self, node: Node) -> Node | None:
        bias, x, weight = node.args[:3]
        if get_arg(node, "alpha") != 1 or get_arg(node, "beta") != 1 or len(shape(bias)) != 1:
            return None
        if shape(bias) != shape(node)[-1:]:
            return None
        if is_call(weight, _aten.transpose_copy.int, _aten.permute_copy.default, _aten.t_copy.default):
            transposed = weight.args[0]
        else:
            transposed = insert(node, _aten.transpose_copy.int, weight, 0, 1)
        return insert(node, _aten.linear.default, x, transposed, bias)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplacePermuteWithTransposePass(NodePass):
    """A permutation of two dimensions is transpose_copy, one of none is its operand."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.permute_copy.default,)

    def rewrite(self, node: Node) -> Node | None:
        source = node.args[0]
        rank = len(shape(node))
        order = [dim_of(int(dim), rank) for dim in get_arg(node, "dims")]
        moved = [at for at, dim in enumerate(order) if at != dim]
        if not moved and isinstance(source, Node) and source.op != "placeholder":
            return source
        if len(moved) != 2 or order[moved[0]] != moved[1]:
            return None
        return insert(node, _aten.transpose_copy.int, source, *moved)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceRepeatWithCatPass(NodePass):
    """Repetitions are concatenations."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.repeat.default,)

    def rewrite(self, node: Node) -> Node | None:
        source, repeats = node.args[0], list(get_arg(node, "repeats"))
        assert isinstance(source, Node)
        sizes = shape(source)
        new = [1] * (len(repeats) - len(sizes)) + sizes
        if not all(isinstance(each, int) and each > 0 for each in (*repeats, *new)):
            return None
        found: Node = source if new == sizes else insert(node, _aten.view_copy.default, source, new)
        for dim, count in reversed(list(enumerate(repeats))):
            if count != 1:
                found = insert(node, _aten.cat.default, [found] * count, dim)
        return None if found is source else found


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplacePadWithCatPass(NodePass):
    """Padding along one dimension is a concatenation with constants."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.constant_pad_nd.default,)

    def rewrite(self, node: Node) -> Node | None:
        pad, sizes = list(get_arg(node, "pad")), shape(node.args[0])
        padded = [at for at in range(len(pad) // 2) if pad[2 * at] or pad[2 * at + 1]]
        fixed = all(isinstance(size, int) for size in sizes)
        if len(padded) != 1 or not fixed or any(not isinstance(each, int) or each < 0 for each in pad):
            return None
        dim, number = len(sizes) - 1 - padded[0], get_arg(node, "value")

        def constant(count: int) -> list[Node]:
            size = [*sizes[:dim], count, *sizes[dim + 1 :]]
            return [insert(node, _FULL, size, number, dtype=dtype_of(node))] if count else []

        parts = [*constant(pad[2 * padded[0]]), node.args[0], *constant(pad[2 * padded[0] + 1])]
        return insert(node, _aten.cat.default, parts, dim)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceConstantPadNdWithSlicePass(NodePass):
    """Padding by negative numbers is a slice in each dimension."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.constant_pad_nd.default,)

    def rewrite(self, node: Node) -> Node | None:
        pad, sizes, found = list(get_arg(node, "pad")), shape(node.args[0]), node.args[0]
        if not any(pad) or any(not isinstance(each, int) or each > 0 for each in pad):
            return None
        for at in range(len(pad) // 2):
            dim = len(sizes) - 1 - at
            if (pad[2 * at] or pad[2 * at + 1]) and isinstance(sizes[dim], int):
                found = insert(node, _aten.slice_copy.Tensor, found, dim, -pad[2 * at], sizes[dim] + pad[2 * at + 1])
        return found if isinstance(found, Node) else None


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceNopTransposeOrPermuteWithViewPass(_ReplaceNopPermute):
    """Permutations that move no element are views."""


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class ReplaceLinearWithFullyConnectedOpPass(NodePass):
    """A linear layer of one row is fully_connected."""

    _names: ClassVar[dict[Any, Any]] = {
        _aten.linear.default: _cadence.fully_connected.default,
        _cadence.quantized_linear.default: _cadence.quantized_fully_connected.default,
        _cadence.quantized_linear.per_tensor: _cadence.quantized_fully_connected.per_tensor,
    }
    targets: ClassVar[tuple[Any, ...]] = tuple(_names)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node.args[0])
        if len(sizes) < 2 or any(size != 1 for size in sizes[:-1]):
            return None
        return insert(node, self._names[node.target], *node.args, **node.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceScalarTensorWithFullPass(NodePass):
    """A tensor of one number is full."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.scalar_tensor.default,)

    def rewrite(self, node: Node) -> Node | None:
        return insert(node, _FULL, [], node.args[0], dtype=dtype_of(node))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceFullLikeWithFullPass(NodePass):
    """A constant in another tensor's shape is full."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.full_like.default,)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node)
        if not all(isinstance(size, int) for size in sizes):
            return None
        return insert(node, _FULL, sizes, node.args[1], dtype=dtype_of(node))


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceInfArgInFullWithValuePass(NodePass):
    """Infinities in constants are the largest numbers, which processors without infinities have."""

    targets: ClassVar[tuple[Any, ...]] = (_FULL,)

    def rewrite(self, node: Node) -> Node | None:
        number = node.args[1]
        if number not in (float("inf"), -float("inf")):
            return None
        most = torch.finfo(torch.float32).max
        return insert(node, _FULL, node.args[0], most if number > 0 else -most, **node.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAtenAvgPoolWithCadenceAvgPoolPass(NodePass):
    """`cadence::avg_pool2d` in place of PyTorch's, over images of one dimension too."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.avg_pool1d.default, _aten.avg_pool2d.default)

    def rewrite(self, node: Node) -> Node | None:
        source, dims = node.args[0], 1 if node.target == _aten.avg_pool1d.default else 2
        if len(shape(source)) != dims + 2 or dtype_of(source) != torch.float32:
            return None
        kernel = _wide(get_arg(node, "kernel_size"), dims, 1)
        stride = _wide(get_arg(node, "stride") or get_arg(node, "kernel_size"), dims, 1)
        padding = _wide(get_arg(node, "padding"), dims, 0)
        flags = (get_arg(node, "ceil_mode"), get_arg(node, "count_include_pad"))
        divisor = get_arg(node, "divisor_override") if dims == 2 else None
        image = source if dims == 2 else insert(node, _aten.unsqueeze_copy.default, source, 2)
        pool = insert(node, _cadence.avg_pool2d.default, image, kernel, stride, padding, *flags, divisor, None, False)
        return pool if dims == 2 else insert(node, _aten.squeeze_copy.dims, pool, [2])


def _wide(numbers: Any, dims: int, first: int) -> list[int]:
    """The numbers of two dimensions."""
    found = [numbers] if isinstance(numbers, int) else list(numbers)
    found = found * dims if len(found) == 1 else found
    return found if dims == 2 else [first, *found]


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAdaptiveAvgPoolWithAtenAvgPoolPass(NodePass):
    """An adaptive mean whose windows have one size is a pool."""

    targets: ClassVar[tuple[Any, ...]] = (_aten._adaptive_avg_pool2d.default,)

    def rewrite(self, node: Node) -> Node | None:
        sizes, results = shape(node.args[0])[-2:], list(get_arg(node, "output_size"))
        if not all(isinstance(size, int) for size in sizes) or any(a % b for a, b in zip(sizes, results, strict=True)):
            return None
        kernel = [size // result for size, result in zip(sizes, results, strict=True)]
        return insert(node, _aten.avg_pool2d.default, node.args[0], kernel, kernel, [0, 0], False, True, None)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceEmptyTensorsWithFullPass(NodePass):
    """A result without elements is a constant."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.slice_copy.Tensor,)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node)
        if 0 not in sizes or not all(isinstance(size, int) for size in sizes):
            return None
        return insert(node, _FULL, sizes, 0, dtype=dtype_of(node))


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceWhereWithFullArgsWithWhereScalar(NodePass):
    """A choice between two constants of the condition's shape is `cadence::where_Scalar`."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.where.self,)

    def rewrite(self, node: Node) -> Node | None:
        numbers = [constant_of(each, _FULL) for each in node.args[1:3]]
        if None in numbers or not isinstance(node.args[0], Node) or not same_shape(node.args[0], node):
            return None
        if dtype_of(node) != torch.float32:
            return None
        return insert(node, _cadence.where_Scalar.default, node.args[0], *(float(each or 0) for each in numbers))


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class ReplaceSplitWithSlicePass(NodePass):
    """Each part of a split is a slice."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.split_with_sizes_copy.default,)

    def maybe_remove_or_replace(self, node: Node) -> bool:
        sizes, dim = list(node.args[1]), get_arg(node, "dim")
        if not all(isinstance(size, int) for size in sizes):
            return False
        for part in list(node.users):
            index = part.args[1]
            assert isinstance(index, int)
            start = sum(sizes[:index])
            cut = insert(part, _aten.slice_copy.Tensor, node.args[0], dim, start, start + sizes[index], 1)
            part.replace_all_uses_with(cut)
            node.graph.erase_node(part)
        return True


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplacePowWithMulPass(NodePass):
    """Powers 2 to 4 are products."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.pow.Tensor_Scalar,)

    def rewrite(self, node: Node) -> Node | None:
        source, exponent = node.args
        if exponent not in (2, 3, 4) or dtype_of(node) != dtype_of(source):
            return None
        found = insert(node, _aten.mul.Tensor, source, source)
        for _ in range(int(exponent) - 2):
            found = insert(node, _aten.mul.Tensor, found, source)
        return found


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceMatmulWithTransposedMatmulPass(NodePass):
    """The second operand of a quantised product has its rows in memory in sequence: it is transposed before."""

    targets: ClassVar[tuple[Any, ...]] = (
        _cadence.quantized_matmul.default,
        _cadence.quantized_matmul_asym8sxasym8s_asym8s.default,
        _cadence.quantized_matmul_asym8uxasym8u_asym8u.default,
    )

    def rewrite(self, node: Node) -> Node | None:
        if get_arg(node, "transposed"):
            return None
        names = ("X", "X_zero_point", "Y", "Y_zero_point", "bias", "out_multiplier", "out_shift", "out_zero_point")
        args = [get_arg(node, name) for name in names]
        args[2] = insert(node, _aten.transpose_copy.int, args[2], -1, -2)
        return insert(node, node.target, *args, True)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAtenLinalgSvdWithCadenceLinalgSvdPass(NodePass):
    """`cadence::linalg_svd` in place of PyTorch's."""

    targets: ClassVar[tuple[Any, ...]] = (_aten._linalg_svd.default,)

    def rewrite(self, node: Node) -> Node | None:
        args = [get_arg(node, name) for name in ("A", "full_matrices", "compute_uv")]
        return insert(node, _cadence.linalg_svd.default, *args) if args[2] else None


class CommonReplacePasses:
    """What other backends of this family replace, too."""

    passes: ClassVar[list[Any]] = [
        ReplaceSqueezeAndUnsqueezeWithViewPass,
        ReplaceSplitWithSlicePass,
        ReplaceSelectWithViewOpPass,
        ReplaceMMWithAddMMPass,
        ReplaceRepeatWithCatPass,
        ReplaceFullLikeWithFullPass,
    ]


class CadenceReplaceOpsInGraph:
    """The passes, in order."""

    passes: ClassVar[list[Any]] = [
        *CommonReplacePasses.passes,
        ReplaceAtenLinalgSvdWithCadenceLinalgSvdPass,
        ReplaceEmptyTensorsWithFullPass,
        ReplaceFunctionallyEquivalentOpTargets,
        ReplacePermuteWithTransposePass,
        ReplaceConvolutionOptionalArgsWithConcreteArgsPass,
        ReplaceAddMMWithLinearPass,
        ReplacePadWithCatPass,
        ReplaceConstantPadNdWithSlicePass,
        ReplaceAtenConvolutionWithCadenceConvolutionPass,
        ReplaceTrivialConvWithLinear,
        ReplaceConvWithChannelLastConvPass,
        ReplaceMaxPool2dWithChannelLastMaxPool2dPass,
        ReplaceConvWithIm2RowAndLinear,
        ReplaceIm2RowWithViewPass,
        ReplaceNopTransposeOrPermuteWithViewPass,
        ReplaceLinearWithFullyConnectedOpPass,
        ReplaceScalarTensorWithFullPass,
        ReplaceInfArgInFullWithValuePass,
        ReplaceLogicalNotBooleanWhereWithWherePass,
        ReplacePT2QuantWithCadenceQuantPass,
        ReplacePT2DequantWithCadenceDequantPass,
        ReplaceAdaptiveAvgPoolWithAtenAvgPoolPass,
        ReplaceAtenAvgPoolWithCadenceAvgPoolPass,
        ReplaceWhereWithFullArgsWithWhereScalar,
        ReplaceMatmulWithTransposedMatmulPass,
        ReplacePowWithMulPass,
    ]
