# SPDX-License-Identifier: BSD-3-Clause
"""Reads a package of Core ML: the functions of its program, and its constants as tensors."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.container import PayloadError, Tree, file_at
from sdk.backends.apple.coreml.verify.operations.constants import unpack_bits

# MIL.proto's DataType: (name, bits, signed). Integers of less than 8 bits are packed, the least significant bits first.
_TYPES = {
    1: ("bool", 8, False),
    10: ("float16", 16, True),
    11: ("float32", 32, True),
    21: ("int8", 8, True),
    22: ("int16", 16, True),
    23: ("int32", 32, True),
    25: ("int4", 4, True),
    31: ("uint8", 8, False),
    32: ("uint16", 16, False),
    33: ("uint32", 32, False),
    35: ("uint4", 4, False),
    36: ("uint2", 2, False),
    37: ("uint1", 1, False),
    38: ("uint6", 6, False),
    39: ("uint3", 3, False),
}
_TORCH = {
    "bool": torch.bool, "float16": torch.float16, "float32": torch.float32, "int8": torch.int8, "int16": torch.int16,
    "int32": torch.int32, "uint8": torch.uint8, "uint16": torch.uint16, "uint32": torch.uint32,
}  # fmt: skip
_STRING = 2
_SENTINEL = 0xDEADBEEF
_MOST_ELEMENTS = 1 << 40


@dataclass(frozen=True)
class Model:
    """The program of a package. `functions` are messages of MIL's protobuf."""

    spec: Any
    functions: Mapping[str, Any]
    weights: memoryview

    @property
    def default_function(self) -> str:
        """The function that runs if the caller names none."""
        return str(self.spec.description.defaultFunctionName) or "main"


def read_package(tree: Tree) -> Model:
    """The model in the files of a `.mlpackage`.

    Raises:
        PayloadError: a file is missing or damaged, or the model is not an ML program.
    """
    ct = coremltools()
    from google.protobuf.message import DecodeError

    spec = ct.proto.Model_pb2.Model()
    try:
        spec.ParseFromString(bytes(file_at(tree, "Data", "com.apple.CoreML", "model.mlmodel")))
    except DecodeError as error:
        raise PayloadError(f"model.mlmodel is not a model of Core ML: {error}") from error
    kind = spec.WhichOneof("Type")
    if kind != "mlProgram":
        raise PayloadError(f"the model is of the type {kind}; only ML programs are read")
    try:
        weights = memoryview(file_at(tree, "Data", "com.apple.CoreML", "weights", "weight.bin"))
    except PayloadError:
        weights = memoryview(b"")
    return Model(spec, dict(spec.mlProgram.functions), weights)


def dtype_of(value_type: Any) -> torch.dtype | None:
    """The dtype of a tensor's type; None for texts. Integers of less than 8 bits are int8 or uint8."""
    kind = value_type.tensorType.dataType
    if kind == _STRING:
        return None
    if kind not in _TYPES:
        raise NotImplementedError(f"the dtype {kind} of MIL")
    name, bits, signed = _TYPES[kind]
    if bits < 8:
        return torch.int8 if signed else torch.uint8
    return _TORCH[name]


def value_of(model: Model, value: Any) -> Any:
    """A constant: a tensor, a text, or a list of constants.

    Raises:
        PayloadError: the constant is not at the declared offset, or has another size.
    """
    if value.WhichOneof("value") == "immediateValue" and value.immediateValue.WhichOneof("value") == "list":
        return [value_of(model, each) for each in value.immediateValue.list.values]
    if value.type.WhichOneof("type") != "tensorType":
        raise NotImplementedError(f"a constant of the type {value.type.WhichOneof('type')}")
    kind = value.type.tensorType
    shape = [int(size.constant.size) for size in kind.dimensions]
    count = 1
    for size in shape:
        count *= size
    if count > _MOST_ELEMENTS:
        raise PayloadError(f"a constant has the shape {shape}")
    if kind.dataType == _STRING:
        texts = [str(text) for text in value.immediateValue.tensor.strings.values]
        return texts[0] if not shape and texts else texts
    if kind.dataType not in _TYPES:
        raise NotImplementedError(f"a constant of the dtype {kind.dataType} of MIL")
    if value.WhichOneof("value") == "blobFileValue":
        data = _blob(model.weights, value.blobFileValue)
        return _tensor(data, kind.dataType, shape, count)
    tensor = value.immediateValue.tensor
    which = tensor.WhichOneof("value")
    if which is None:
        return torch.zeros(shape, dtype=dtype_of(value.type))
    if which == "bytes":
        return _tensor(memoryview(tensor.bytes.values), kind.dataType, shape, count)
    numbers = list(getattr(tensor, which).values)
    if len(numbers) != count:
        raise PayloadError(f"a constant of the shape {shape} has {len(numbers)} values")
    return torch.tensor(numbers, dtype=dtype_of(value.type)).reshape(shape)


def _tensor(data: memoryview, kind: int, shape: list[int], count: int) -> torch.Tensor:
    name, bits, signed = _TYPES[kind]
    if (count * bits + 7) // 8 != len(data):
        raise PayloadError(f"a constant of the shape {shape} of {name} has {len(data)} bytes")
    if count == 0:
        return torch.zeros(shape, dtype=_TORCH.get(name, torch.uint8))
    if bits < 8:
        return unpack_bits(torch.frombuffer(bytearray(data), dtype=torch.uint8), bits, count, signed).reshape(shape)
    return torch.frombuffer(bytearray(data), dtype=_TORCH[name]).reshape(shape)


def _blob(weights: memoryview, reference: Any) -> memoryview:
    """The bytes of a constant in the weight file. The 64 bytes at the offset are metadata with the data's offset."""
    offset = int(reference.offset)
    if offset % 64 or offset + 64 > len(weights):
        raise PayloadError(f"a constant lies at offset {offset} of the weight file, which has {len(weights)} bytes")
    sentinel, _, size, start = struct.unpack_from("<IIQQ", weights, offset)
    if sentinel != _SENTINEL or start > len(weights) or size > len(weights) - start:
        raise PayloadError(f"the weight file has no constant at offset {offset}: {size} bytes at {start}")
    return weights[start : start + size]
