# SPDX-License-Identifier: BSD-3-Clause
"""Conversions between floats and integers. An operator between a dequantize and a quantize may compute in int8 instead
(`sdk.backends.xnnpack.quantization`); the two are then not written."""

from __future__ import annotations

import math

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import DEQUANTIZE, DEQUANTIZE_AFFINE, DYNAMIC, QUANTIZE, TORCHAO, dynamic_source
from sdk.backends.xnnpack.operators.elementwise import wants_nhwc
from sdk.backends.xnnpack.operators.operator import (
    FLOATS,
    ConfigPrecisionType,
    XNNPartitionerConfig,
    rank_of,
    refusal_of_tensor,
)
from sdk.backends.xnnpack.quantization import DYNAMIC_NAMES, HIGHEST, LOWEST, is_narrow, refusal_of_scale, scale_of
from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NODES
from sdk.backends.xnnpack.subgraph_writer import SubgraphWriter, shape_of


class _ConversionConfig(XNNPartitionerConfig):
    def needs_step(self, node: Node) -> bool:
        return False


class QuantizeConfig(_ConversionConfig):
    """Quantises floats with a static scale."""

    target_names = (QUANTIZE,)
    takes_half = False
    supported_precision_types = (ConfigPrecisionType.STATIC_QUANT,)

    def refusal(self, node: Node, program: ExportedProgram) -> str | None:
        source = node.args[0]
        assert isinstance(source, Node)
        return refusal_of_tensor(source.meta.get("val"), source) or refusal_of_scale(node, may_be_narrow=True)

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        source = node.args[0]
        if is_narrow(node):
            assert isinstance(source, Node)
            scale, limited = scale_of(node), writer.temporary(shape_of(source))
            limits = ((LOWEST + 1 - scale.zero_point) * scale.scale, math.inf)
            writer.add(NODES["Clamp"](writer.read(source), limited), limits)
            writer.add(NODES["Convert"](limited, writer.result(node)))
            return
        nhwc = wants_nhwc(writer, [source]) or _is_thin_image(node)
        writer.add(NODES["Convert"](writer.read(source, nhwc), writer.result(node, nhwc)))


def _is_thin_image(node: Node) -> bool:
    """Whether a node quantises an argument with few channels for convolutions, which read it in NHWC. With few
    channels, XNNPACK transposes floats faster than bytes."""
    source = node.args[0]
    assert isinstance(source, Node)
    readers = [reader for integers in node.users for reader in integers.users]
    if source.op != "placeholder" or rank_of(source) != 4 or not readers:
        return False
    return source.meta["val"].shape[1] <= 4 and all(name_of(reader) == "aten.convolution.default" for reader in readers)


class DequantizeConfig(_ConversionConfig):
    """Converts integers to floats; added when a node reads the floats."""

    target_names = (DEQUANTIZE,)
    takes_half = False
    supported_precision_types = (ConfigPrecisionType.STATIC_QUANT,)

    def refusal(self, node: Node, program: ExportedProgram) -> str | None:
        source = node.args[0]
        assert isinstance(source, Node)
        reason = refusal_of_scale(node) or refusal_of_tensor(source.meta.get("val"), source, (torch.int8,))
        return reason or refusal_of_tensor(node.meta.get("val"), node)

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        pass


class DynamicQuantConfig(_ConversionConfig):
    """Dynamic quantisation of activations, which becomes part of the layer that reads it, and dequantisation of
    weights."""

    target_names = (*sorted(DYNAMIC_NAMES), DEQUANTIZE_AFFINE)
    keep_whole = True
    supported_precision_types = (ConfigPrecisionType.DYNAMIC_QUANT,)
    _CHOOSE = tuple(names[0] for names in DYNAMIC)
    _LAYERS = ("aten.linear.default",)

    def refusal(self, node: Node, program: ExportedProgram) -> str | None:
        name = name_of(node)
        if name == DYNAMIC[0][0] and (tuple(node.args[1:3]) != (LOWEST, HIGHEST) or node.args[4] is not torch.int8):
            low, high, _, dtype = node.args[1:5]
            return f"its integers are {dtype} from {low} to {high}, and XNNPACK takes torch.int8 from -128 to 127"
        if name in self._CHOOSE:
            return refusal_of_tensor(node.args[0].meta.get("val"), node.args[0], FLOATS)
        is_last = any(name == names[-1] for names in DYNAMIC)
        if is_last and dynamic_source(node) is None:
            return "its scale is not computed from each row of its operand"
        return None

    def refusal_of_call(self, node: Node, program: ExportedProgram) -> str | None:
        """Refuses torchao's operators that no layer reads, so that the exporter decomposes them."""
        readers: list[Node] = [node]
        while readers:
            reader = readers.pop()
            if name_of(reader) in self._LAYERS:
                return None
            if name_of(reader) in (*TORCHAO, DEQUANTIZE_AFFINE, "getitem"):
                readers += reader.users
        return "no layer reads it"

    def lower(self, node: Node, writer: SubgraphWriter) -> None:
        pass
