# SPDX-License-Identifier: BSD-3-Clause
"""Converts one partition to a model of OpenVINO, with OpenVINO's own frontend for PyTorch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize, is_any_quantize
from sdk.backends.openvino.dialect import TYPES, in_aten
from sdk.backends.openvino.operators import OPERATORS
from sdk.backends.openvino.quantized import rewrite_quantized
from sdk.backends.openvino.toolkit import openvino
from sdk.backends.transforms.constants import get_constant, settled
from sdk.exir.backend._messages import source_of
from sdk.exir.tensor import dim_order_of


def way_around(program: ExportedProgram) -> str:
    """Returns advice for partitions that OpenVINO refuses as a whole; its messages seldom name an operator."""
    names = sorted({str(node.target) for node in program.graph.nodes if node.op == "call_function"})
    return (
        f"Its operators are {', '.join(names)}; the partitioner leaves those in op_types_to_skip, and the nodes in "
        "op_names_to_skip, to the kernels"
    )


def to_model(program: ExportedProgram) -> Any:
    """An `openvino.Model` with the partition's inputs and outputs, in their order. The partitioner may have made it
    already, when it tested whether OpenVINO converts the partition.

    Sizes that are symbols are dynamic dimensions. Raises RuntimeError with the operator that OpenVINO cannot convert.
    """
    nodes = list(program.graph.nodes)
    inputs = [node for node in nodes if node.op == "placeholder"]
    calls = [node for node in nodes if node.op not in ("placeholder", "output")]
    (outputs,) = program.graph.output_node().args
    tried: list[Any] = [kept for call in calls if (kept := call.meta.pop(_TRIED, None)) is not None]
    try:
        with settled(program):
            weights = {node: weight for node in inputs if (weight := get_constant(program, node)) is not None}
            plain = _plain(inputs, calls, outputs, weights)
        made = [kept.take(plain.key) for kept in tried]
        return next((model for model in made if model is not None), None) or _convert(plain)
    except RuntimeError as error:
        raise RuntimeError(f"{error}. {way_around(program)}") from error


def refusals(program: ExportedProgram, calls: Sequence[Node], owned: Callable[[Node], bool]) -> dict[Node, str]:
    """The calls that keep OpenVINO from converting a partition, with reasons; empty if it can. The converted model is
    then kept in the metadata of the calls, for `to_model`.

    Args:
        program: It is `settled`.
        calls: The calls, in the order of the graph.
        owned: Whether the partition would own a constant that it reads. Others are inputs.
    """
    reason = _try(program, calls, owned, keep=True)
    if reason is None:
        return {}
    # A quantize without its dequantize cannot be converted, although a partition of both can.
    tried = [node for node in calls if not (is_any_quantize(node) or is_any_dequantize(node) or _is_result(node))]
    alone = {node: _try(program, [node, *filter(_is_result, node.users)], owned) for node in tried}
    return {node: why for node, why in alone.items() if why is not None} or dict.fromkeys(calls, reason)


_TRIED = "openvino_model"
"""The key in `Node.meta` of the first call of a partition for its `_Converted`."""


class _Converted:
    """A model that `to_model` returns for the same partition. It is returned only once, because it may be large."""

    def __init__(self, key: str, model: Any) -> None:
        self._key, self._model = key, model

    def take(self, key: str) -> Any:
        """Returns the model if it was made from the graph `key`. Returns None otherwise, and from the second call
        on."""
        model, self._model = self._model, None
        return model if key == self._key else None


def _is_result(node: Node) -> bool:
    return node.target is operator.getitem


def _try(
    program: ExportedProgram, calls: Sequence[Node], owned: Callable[[Node], bool], keep: bool = False
) -> str | None:
    """Why OpenVINO cannot convert a partition; None if it can. Converts the same graph as `to_backend` makes from these
    calls."""
    inside = set(calls)
    read = dict.fromkeys(node for call in calls for node in call.all_input_nodes if node not in inside)
    given = [node for node in read if node.op in ("placeholder", "get_attr") and owned(node)]
    weights = {node: weight for node in given if (weight := get_constant(program, node)) is not None}
    outputs = [
        call for call in calls if isinstance(call.meta["val"], torch.Tensor) and not inside.issuperset(call.users)
    ]
    try:
        plain = _plain(read, calls, outputs, weights)
        model = _convert(plain)
    except RuntimeError as error:
        return str(error)
    if keep:
        for call in calls:
            call.meta.pop(_TRIED, None)
        calls[0].meta[_TRIED] = _Converted(plain.key, model)
    return None


def _convert(plain: _Plain) -> Any:
    """Raises RuntimeError if OpenVINO's frontend refuses the graph."""
    ov = openvino()
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.fx_decoder import TorchFXPythonDecoder

    module, outputs = plain.module, plain.outputs
    given = [node for node in module.graph.nodes if node.op == "placeholder"]
    frontend = FrontEndManager().load_by_framework("pytorch")
    decoder = TorchFXPythonDecoder(module)  # kept alive here, because OpenVINO holds no reference
    try:
        model = frontend.convert(frontend.load(decoder))
    except Exception as error:  # the frontend raises its own exceptions, whose types are not public
        raise RuntimeError(f"OpenVINO cannot convert a partition: {str(error).strip()}") from error
    if len(model.inputs) != len(given):
        raise RuntimeError(f"OpenVINO's model has {len(model.inputs)} inputs; the partition has {len(given)}")
    for port, node in zip(model.inputs, given, strict=True):
        parameter = port.get_node()
        value = node.meta["val"]
        if isinstance(value, torch.Tensor):
            parameter.set_element_type(getattr(ov.Type, TYPES[value.dtype]))
            parameter.set_partial_shape(_partial_shape(ov, value.shape))
        else:
            parameter.set_element_type(ov.Type.i64)
            parameter.set_partial_shape(ov.PartialShape([]))
    model.validate_nodes_and_infer_types()
    for port, node in zip(model.inputs, given, strict=True):
        order = _order_in_memory(node.meta["val"])
        if order is not None:
            _permute_input(ov, port.get_node(), order)
    _pack_int4(ov, model)
    _finish_outputs(ov, model, outputs)
    model.validate_nodes_and_infer_types()
    return model


@dataclass(frozen=True)
class _Plain:
    """A partition's graph in ATen, with weights as attributes. Graphs with the same key have the same model."""

    module: GraphModule
    outputs: Sequence[Node]
    key: str


def _plain(
    inputs: Iterable[Node], calls: Iterable[Node], outputs: Sequence[Node], known: Mapping[Node, torch.Tensor]
) -> _Plain:
    graph, weights = Graph(), torch.nn.Module()
    made: dict[Node, Node] = {}
    for node in sorted(known, key=str):
        weights.register_buffer(node.name, known[node].detach().contiguous())
        made[node] = graph.get_attr(node.name)
    for node in inputs:
        if node not in known:
            made[node] = graph.placeholder(node.name)
    for node in calls:
        if node.op != "call_function":
            raise RuntimeError(f"OpenVINO cannot convert {node.op} {node.target}{source_of(node)}")
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda argument: made[argument])
        entry = OPERATORS.get(name_of(node))
        if entry is not None:
            made[node] = entry.lower(node, graph, args, kwargs)
        else:  # getitem
            made[node] = graph.call_function(*in_aten(node, args, kwargs))
    for node, new in made.items():
        if "val" in node.meta:
            new.meta["val"] = node.meta["val"]
    graph.output(tuple(made[node] for node in outputs))
    module = GraphModule(weights, graph)
    rewrite_quantized(module)
    module.graph.lint()
    module.recompile()
    values = [_described(node.meta.get("val")) for node in (*made, *outputs)]
    stored = sorted(f"{node.name} at {weight.data_ptr()}, {weight.stride()}" for node, weight in known.items())
    return _Plain(module, outputs, "\n".join((str(module.graph), *values, *stored)))


def _described(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return str(value)
    return f"{value.dtype} {list(value.shape)} {dim_order_of(value)}"


def _partial_shape(ov: Any, sizes: Any) -> Any:
    return ov.PartialShape([ov.Dimension(size) if isinstance(size, int) else ov.Dimension() for size in sizes])


def _order_in_memory(value: Any) -> list[int] | None:
    """Returns the dim order of a tensor, or None for the default one. The runtime passes tensors in the order of their
    memory."""
    if not isinstance(value, torch.Tensor):
        return None
    order = list(dim_order_of(value))
    return None if order == sorted(order) else order


def _permute_input(ov: Any, parameter: Any, order: list[int]) -> None:
    """Gives a parameter the shape of its memory, and permutes it for its users."""
    readers = parameter.output(0).get_target_inputs()
    shape = parameter.get_partial_shape()
    parameter.set_partial_shape(ov.PartialShape([shape[dim] for dim in order]))
    parameter.validate_and_infer_types()
    back = sorted(range(len(order)), key=order.__getitem__)
    permuted = _ops().transpose(parameter, _ops().constant(back, ov.Type.i64))
    for reader in readers:
        reader.replace_source_output(permuted.output(0))


def _pack_int4(ov: Any, model: Any) -> None:
    """Converts weights that fit in 4 bits, which PyTorch stores in bytes, to OpenVINO's 4-bit types."""
    for constant in model.get_ordered_ops():
        if constant.get_type_name() != "Constant" or constant.get_element_type() != ov.Type.i8:
            continue
        values, readers = constant.get_data(), constant.output(0).get_target_inputs()
        if values.ndim < 2 or any(reader.get_node().get_type_name() != "Convert" for reader in readers):
            continue
        for low, high, wanted in ((-8, 7, ov.Type.i4), (0, 15, ov.Type.u4)):
            if low <= values.min() and values.max() <= high:
                packed = _ops().constant(values, wanted)
                for reader in readers:
                    reader.replace_source_output(packed.output(0))
                break


def _finish_outputs(ov: Any, model: Any, outputs: Sequence[Node]) -> None:
    """Converts results to the dtypes and the order in memory that the program has. OpenVINO computes some of PyTorch's
    int64 results in int32."""
    for result, node in zip(model.get_results(), outputs, strict=True):
        value = node.meta["val"]
        wanted = getattr(ov.Type, TYPES[value.dtype])
        source = result.input_value(0)
        shape = source.get_partial_shape()
        if shape.rank.is_static and len(shape) != value.dim():
            raise RuntimeError(f"OpenVINO makes {shape} of {node}, expected {list(value.shape)}{source_of(node)}")
        if source.get_element_type() != wanted:
            source = _ops().convert(source, wanted).output(0)
        if source.get_node().get_type_name() == "Parameter":
            # An output that is an input itself would bind its memory to the input.
            same = [0] * len(source.get_partial_shape())
            source = _ops().reshape(source, _ops().constant(same, ov.Type.i64), True).output(0)
        order = _order_in_memory(value)
        if order is not None:
            source = _ops().transpose(source, _ops().constant(order, ov.Type.i64)).output(0)
        result.input(0).replace_source_output(source)


def _ops() -> Any:
    from openvino import opset13

    return opset13
