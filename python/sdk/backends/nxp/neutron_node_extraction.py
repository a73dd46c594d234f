# SPDX-License-Identifier: BSD-3-Clause
"""`extract_artifacts_from_neutron_node`: what NXP's converter puts into a model of LiteRT."""

from __future__ import annotations

from collections.abc import Sequence

from sdk.backends.nxp.neutron.payload import NeutronNodeArtifacts
from sdk.backends.nxp.neutron.tflite.schema import Code, Model, Operator, from_bytes
from sdk.exir._serialize._regular_file import read_file

__all__ = ["NeutronNodeArtifacts", "extract_artifacts_from_neutron_node"]

_NODE = "NeutronGraph"
_CONSTANTS = 3  # microcode, weights and kernels, the last inputs of the node


def extract_artifacts_from_neutron_node(tflite_flatbuffer_or_path: bytes | str) -> NeutronNodeArtifacts:
    """Returns the compiled network in a converted model.

    Args:
        tflite_flatbuffer_or_path: The model, or its file.

    Raises:
        RuntimeError: the model does not consist of one Neutron operator, because the converter did not take all of
            it.
        ValueError: the model is damaged.
    """
    data = tflite_flatbuffer_or_path
    model = from_bytes(read_file(data) if isinstance(data, str) else bytes(data))
    if len(model.subgraphs) != 1:
        raise RuntimeError(f"NXP's converter made a model with {len(model.subgraphs)} graphs; expected 1")
    node = _node(model)
    graph = model.subgraphs[0]
    # A network that can be profiled has two more outputs; the memory for intermediate results is the last one of all.
    if len(node.inputs) < _CONSTANTS or len(node.outputs) < 2:
        raise RuntimeError(
            f"NXP's converter made a node with {len(node.inputs)} inputs and {len(node.outputs)} outputs; expected at "
            f"least {_CONSTANTS} and 2"
        )
    outputs = node.outputs[:-1]
    version = int(len(outputs) == len(graph.outputs) + 2)
    outputs = outputs[:-2] if version else outputs
    inputs = node.inputs[:-_CONSTANTS]
    microcode, weights, kernels = (_data(model, index) for index in node.inputs[-_CONSTANTS:])
    return NeutronNodeArtifacts(
        _names(model, inputs), _places(inputs, graph.inputs), _names(model, outputs), _places(outputs, graph.outputs),
        microcode, weights, kernels, version,
    )  # fmt: skip


def _node(model: Model) -> Operator:
    operators = model.subgraphs[0].operators
    names = [_name(model, each) for each in operators]
    if names != [_NODE]:
        raise RuntimeError(
            f"NXP's converter left {len(names)} operators ({', '.join(names) or 'none'}); expected one {_NODE}: name "
            f"those that it does not take in operators_not_to_delegate"
        )
    return operators[0]


def _name(model: Model, operator: Operator) -> str:
    if operator.opcode_index >= len(model.operator_codes):
        raise ValueError(f"a model has {len(model.operator_codes)} operators; a call has the {operator.opcode_index}th")
    code = model.operator_codes[operator.opcode_index]
    number = max(code.code, code.deprecated_code)
    if number == Code.CUSTOM:
        return code.custom_code or ""
    return Code(number).name if number in list(Code) else f"operator {number}"


def _tensor(model: Model, index: int) -> int:
    if not 0 <= index < len(model.subgraphs[0].tensors):
        raise ValueError(f"a model has {len(model.subgraphs[0].tensors)} tensors; a node refers to {index}")
    return index


def _names(model: Model, tensors: Sequence[int]) -> list[str]:
    return [model.subgraphs[0].tensors[_tensor(model, each)].name for each in tensors]


def _places(tensors: Sequence[int], known: Sequence[int]) -> list[int]:
    missing = [each for each in tensors if known.count(each) != 1]
    if missing:
        raise RuntimeError(
            f"NXP's converter made a node with the tensors {list(tensors)}; the model's own are {list(known)}"
        )
    return [known.index(each) for each in tensors]


def _data(model: Model, index: int) -> bytes:
    place = model.subgraphs[0].tensors[_tensor(model, index)].buffer
    if place >= len(model.buffers):
        raise ValueError(f"a model has {len(model.buffers)} buffers; a tensor refers to {place}")
    return model.buffers[place].data or b""
