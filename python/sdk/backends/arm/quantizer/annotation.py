# SPDX-License-Identifier: BSD-3-Clause
"""Annotates operators that TOSA computes in integers, beyond the operators that all quantizers annotate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import Node
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationConfig,
    SharedQuantizationSpec,
    get_input_act_qspec,
    get_output_act_qspec,
)

from sdk.backends.arm.quantizer.masks import SOFTMAXES, constant_of, scores_of, takes_out
from sdk.backends.quantizer.aliases import is_written
from sdk.backends.quantizer.patterns import (
    ADDITIONS,
    ANNOTATION,
    CONVOLUTIONS,
    JOINTS,
    LINEAR,
    POOLS,
    PRODUCTS,
    SHARING,
    TRANSPOSED,
    annotate_part,
    is_annotated,
    share_scale,
)

_aten = torch.ops.aten

# Functions of one variable, which a table computes. Some have a form that writes in place.
_FUNCTIONS = (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "celu", "clamp", "cos", "cosh", "elu", "erf"),
    *("exp", "expm1", "floor", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log", "log10", "log1p"),
    *("log2", "mish", "neg", "reciprocal", "relu", "relu6", "round", "rsqrt", "selu", "sigmoid", "sign", "silu", "sin"),
    *("sinh", "softplus", "sqrt", "tan", "tanh", "trunc", "clamp_min", "clamp_max", "erfinv"),
)
_NAMES = (*_FUNCTIONS, *(f"{name}_" for name in _FUNCTIONS))
UNARY = frozenset(getattr(_aten, name).default for name in _NAMES if hasattr(getattr(_aten, name, None), "default")) | {
    _aten.pow.Tensor_Scalar,
    _aten.remainder.Scalar,
    _aten.fmod.Scalar,
}
BINARY = frozenset((_aten.sub.Tensor, _aten.sub_.Tensor, _aten.maximum.default, _aten.minimum.default))
MATRICES = frozenset((_aten.matmul.default, _aten.bmm.default, _aten.mm.default))
SUMS = frozenset((_aten.mean.dim, _aten.sum.dim_IntList, _aten.cumsum.default))
LOG_SOFTMAXES = frozenset((_aten.log_softmax.int, _aten._log_softmax.default))
NORMS = frozenset((_aten.layer_norm.default, _aten.group_norm.default, _aten.rms_norm.default))
TABLES = frozenset(
    (
        *(_aten.div.Tensor, _aten.div.Tensor_mode, _aten.pow.Tensor_Tensor, _aten.remainder.Tensor, _aten.fmod.Tensor),
        *(_aten.atan2.default, _aten.floor_divide.default),
    )
)
"""Functions of two variables. For int8 they are tables of all pairs."""
COMPARISONS = frozenset(
    getattr(getattr(_aten, name), overload)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for overload in ("Tensor", "Scalar")
)
WRITES = frozenset((_aten.slice_scatter.default, _aten.index_put.default, _aten.scatter.src, _aten.scatter.value))
"""Operators that write to a part of an operand. The written part, if it is a tensor, gets the scale of the result."""
MOVES = SHARING | frozenset(
    (
        *(
            _aten.amax.default,
            _aten.amin.default,
            _aten.constant_pad_nd.default,
            _aten.pad.default,
        ),
        *(_aten.expand.default, _aten.flip.default, _aten.gather.default, _aten.index.Tensor),
        *(_aten.index_select.default, _aten.repeat.default, _aten.upsample_nearest2d.vec),
        *(_aten.unfold.default, _aten.as_strided.default, _aten.unflatten.int, _aten.squeeze.default),
        *(_aten.movedim.int, _aten.expand_as.default),
    )
)
"""Operators that move or select elements. The result has the scale of the operand."""
POSITIONS = frozenset((_aten.argmax.default, _aten.argmin.default))
_VECTOR_NORM = _aten.linalg_vector_norm.default
_ANNOTATED = frozenset(
    (
        *(*CONVOLUTIONS, *TRANSPOSED, *LINEAR, *ADDITIONS, *PRODUCTS, *POOLS, *JOINTS, *UNARY, *NORMS, *LOG_SOFTMAXES),
        *(*SOFTMAXES, *TABLES, *WRITES, *BINARY, *MATRICES, *POSITIONS, *COMPARISONS, *SUMS, *MOVES),
        *(_aten.embedding.default, _aten.where.self),
    )
)


def is_annotated_here(target: Any, *args: Any) -> bool:
    """Whether `annotate` or `annotate_moves` handles a call of an operator with these arguments."""
    return target in _ANNOTATED or (target is _VECTOR_NORM and args[1:2] in ((), (2,)))


def annotate(node: Node, config: QuantizationConfig) -> bool:
    """Annotates the unit that begins with a node, if TOSA computes it in integers. Returns whether it did."""
    if is_annotated(node):
        return False
    masked = takes_out(node)
    if not masked and annotate_part(node, config, lambda _: True):
        return True
    if config.input_activation is None or config.input_activation.is_dynamic:
        return False
    if node.target in UNARY or node.target in NORMS or node.target in LOG_SOFTMAXES:
        return _annotate(node, node.args[:1], config)
    if node.target is _VECTOR_NORM:
        return is_annotated_here(node.target, *node.args) and _annotate(node, node.args[:1], config)
    if node.target in SOFTMAXES:
        return _annotate(node, [each for each in node.args[:1] if not takes_out(each)], config)
    if node.target in TABLES:
        return _annotate(node, [each for each in node.args[:2] if isinstance(each, Node)], config)
    if node.target in WRITES:
        return _annotate(node, [each for each in node.all_input_nodes if _is_float(each)], config)
    if node.target is _aten.embedding.default:
        return _annotate_embedding(node, config)
    if node.target in BINARY or node.target in MATRICES:
        return _annotate(node, node.args[:2], config)
    if node.target in POSITIONS:
        return _annotate_bare(node, node.args[:1], config)
    if masked:
        return _annotate_bare(node, scores_of(node), config)
    if node.target is _aten.where.self:
        return _annotate(node, node.args[1:3], config)
    if node.target in COMPARISONS:
        # The result is bool. If the other operand is a number, it stays a number.
        return _annotate_bare(node, [each for each in node.args[:2] if isinstance(each, Node)], config)
    return node.target in SUMS and _annotate(node, node.args[:1], config)


def _annotate(node: Node, operands: Any, config: QuantizationConfig) -> bool:
    if not all(map(_is_float, (node, *operands))):
        return False
    node.meta[ANNOTATION] = QuantizationAnnotation(
        input_qspec_map=dict.fromkeys(operands, get_input_act_qspec(config)),
        output_qspec=get_output_act_qspec(config),
        _annotated=True,
    )
    return True


def _annotate_bare(node: Node, operands: Any, config: QuantizationConfig) -> bool:
    """Annotates operators whose result is not quantised."""
    if not all(map(_is_float, operands)):
        return False
    node.meta[ANNOTATION] = QuantizationAnnotation(
        input_qspec_map=dict.fromkeys(operands, get_input_act_qspec(config)), _annotated=True
    )
    return True


def _annotate_embedding(node: Node, config: QuantizationConfig) -> bool:
    """Annotates embeddings with int32 indices. With int64, which TOSA lacks, a kernel would dequantise the whole
    table in each call."""
    weight, indices = node.args[:2]
    if not _is_float(weight) or indices.meta["val"].dtype != torch.int32:
        return False
    node.meta[ANNOTATION] = QuantizationAnnotation(
        input_qspec_map={weight: get_input_act_qspec(config)},
        output_qspec=SharedQuantizationSpec((weight, node)),
        _annotated=True,
    )
    return True


def _is_float(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def annotate_moves(model: torch.fx.GraphModule, config_of: Callable[[Node], QuantizationConfig | None]) -> None:
    """Annotates operators that move floats. They keep the scale of the operand if it has one. Otherwise, operand and
    result get one scale, if a configuration applies and no user reads them as floats."""
    for node in model.graph.nodes:
        if node.target in MOVES and not is_annotated(node) and not share_scale(node):
            config = config_of(node)
            if config is not None:
                _annotate_move(node, config)


def _annotate_move(node: Node, config: QuantizationConfig) -> None:
    wanted, source = config.input_activation, node.args[0]
    if wanted is None or wanted.is_dynamic or not (_is_float(node) and _is_float(source)):
        return
    readers = [(read, reader.meta.get(ANNOTATION)) for read, reader in _readers(node)]
    if any(known is not None and read not in known.input_qspec_map for read, known in readers):
        return  # such as the mask of a softmax
    if constant_of(source) is not None and any(known is None for _, known in readers):
        return
    node.meta[ANNOTATION] = QuantizationAnnotation(
        input_qspec_map={source: get_input_act_qspec(config)},
        output_qspec=SharedQuantizationSpec((source, node)),
        _annotated=True,
    )


def _readers(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yields the calls that read the elements of a node, directly or after moves, each with the node that it reads."""
    for user in node.users:
        if user.target in MOVES and not is_annotated(user):
            yield from _readers(user)
        else:
            yield node, user


def annotate_edges(model: torch.fx.GraphModule, config: QuantizationConfig) -> None:
    """Annotates the inputs and the outputs of a model, but not inputs that are masks or that the model writes to."""
    for node in model.graph.nodes:
        if node.op == "placeholder" and _is_float(node) and not is_annotated(node) and not is_written(node):
            node.meta[ANNOTATION] = QuantizationAnnotation(output_qspec=get_input_act_qspec(config), _annotated=True)
        elif node.op == "output":
            results = [result for result in node.all_input_nodes if _is_float(result)]
            node.meta[ANNOTATION] = QuantizationAnnotation(
                input_qspec_map=dict.fromkeys(results, get_output_act_qspec(config)), _annotated=True
            )
