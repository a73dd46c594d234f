# SPDX-License-Identifier: BSD-3-Clause
"""Graphs as bytes: the *reference payload*, which only the interpreter and the stand-ins of the tests run. No device
runs it.

Numbers are little-endian:

    8 bytes      "NPUREF01"
    text         the key of the named data with the constants; "" if they are in the payload
    u32 x 4      how many values, calls, inputs and outputs follow
    values       u8 dtype, u8 dimensions, u8 flags (1 quantised, 2 constant), u32 sizes;
                 if quantised: i32 axis (-1 for one scale), i64 low, i64 high, u32 count, f64 scales, i64 zero points;
                 if constant: u64 offset, u64 bytes, in the constants
    calls        text name, u8 flags (1 low, 2 high), f64 low, f64 high, argument (a list), u32 count, u32 results
    inputs       u32 positions of values, then those of outputs
    constants    each at a multiple of 16 bytes, from the first such multiple on

A text is u16 bytes and UTF-8. An argument is u8 kind: 0 None; 1 bool as u8; 2 i64; 3 f64; 4 a value, u32; 5 a list, u32
count and arguments; 6 a dtype, u8; 7 a text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import prod
from typing import Any

import torch

from sdk.backends.npu.graph import Call, Graph, Quantization, Ref, Value
from sdk.backends.npu.reference_reader import Reader
from sdk.backends.payload import aligned, padded
from sdk.exir._serialize._named_data_store import tensor_bytes

MAGIC = b"NPUREF01"

DTYPES = (
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
)  # fmt: skip
"""Dtypes, indexed by their numbers in payloads."""

_DEEPEST = 4  # lists in lists
_MOST = 1 << 31  # bytes of a value


def is_reference(payload: bytes | memoryview) -> bool:
    """Whether bytes are a reference payload."""
    return bytes(payload[: len(MAGIC)]) == MAGIC


class Constants:
    """The bytes of constants, each distinct one once. Several payloads may share them."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._known: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        """Appends bytes and returns their offset."""
        if data not in self._known:
            self._known[data] = self._size
            self._parts.append(padded(data))
            self._size += aligned(len(data))
        return self._known[data]

    def to_bytes(self) -> bytes:
        return b"".join(self._parts)


def to_bytes(graph: Graph, constants: Constants | None = None, key: str = "") -> bytes:
    """The payload of a graph. With `constants`, its constants are added there, and stored by the caller under `key`."""
    own = constants is None
    store = constants or Constants()
    out = bytearray(MAGIC)
    out += encoded_text(key)
    out += struct.pack("<4I", len(graph.values), len(graph.calls), len(graph.inputs), len(graph.outputs))
    for value in graph.values:
        out += _value(value, store)
    for call in graph.calls:
        out += _call(call)
    out += struct.pack(f"<{len(graph.inputs) + len(graph.outputs)}I", *graph.inputs, *graph.outputs)
    return padded(bytes(out)) + store.to_bytes() if own else bytes(out)


def encoded_text(text: str) -> bytes:
    """A text with its length before it."""
    data = text.encode()
    return struct.pack("<H", len(data)) + data


def _value(value: Value, constants: Constants) -> bytes:
    given, data = value.quantization, value.data
    flags = (1 if given is not None else 0) | (2 if data is not None else 0)
    out = struct.pack("<3B", DTYPES.index(value.dtype), len(value.shape), flags)
    out += struct.pack(f"<{len(value.shape)}I", *value.shape)
    if given is not None:
        count = len(given.scales)
        axis = -1 if given.axis is None else given.axis
        out += struct.pack("<iqqI", axis, given.low, given.high, count)
        out += struct.pack(f"<{count}d{count}q", *given.scales, *given.zero_points)
    if data is not None:
        content = tensor_bytes(data.contiguous())
        out += struct.pack("<QQ", constants.add(content), len(content))
    return out


def _call(call: Call) -> bytes:
    flags = (call.low is not None) | (call.high is not None) << 1
    out = encoded_text(call.name) + struct.pack("<Bdd", flags, call.low or 0.0, call.high or 0.0) + _argument(call.args)
    return out + struct.pack(f"<I{len(call.results)}I", len(call.results), *call.results)


def _argument(argument: Any) -> bytes:
    if argument is None:
        return b"\0"
    if isinstance(argument, bool):
        return struct.pack("<BB", 1, argument)
    if isinstance(argument, int):
        return struct.pack("<Bq", 2, argument)
    if isinstance(argument, float):
        return struct.pack("<Bd", 3, argument)
    if isinstance(argument, Ref):
        return struct.pack("<BI", 4, argument.value)
    if isinstance(argument, list):
        return struct.pack("<BI", 5, len(argument)) + b"".join(map(_argument, argument))
    if isinstance(argument, torch.dtype):
        return struct.pack("<BB", 6, DTYPES.index(argument))
    if isinstance(argument, str):
        return b"\7" + encoded_text(argument)
    raise TypeError(f"an argument of a call is {argument!r}, which payloads cannot hold")


def from_bytes(payload: bytes | memoryview, named_data: Callable[[str], bytes]) -> Graph:
    """The graph of a payload.

    Raises ValueError for bytes that are not a valid payload. The message has the offset and what was expected there.
    """
    reader = Reader(payload)
    if reader.bytes(len(MAGIC)) != MAGIC:
        raise ValueError("the payload is not a reference payload")
    key = reader.text()
    counts = reader.numbers("4I")
    if sum(counts) > len(payload):
        raise ValueError(f"the payload has {len(payload)} bytes for {counts[0]} values and {counts[1]} calls")
    graph = Graph()
    places = [_read_value(reader, graph) for _ in range(counts[0])]
    graph.calls = [_read_call(reader, counts[0]) for _ in range(counts[1])]
    graph.inputs = [reader.position(counts[0]) for _ in range(counts[2])]
    graph.outputs = [reader.position(counts[0]) for _ in range(counts[3])]
    constants = memoryview(named_data(key)) if key else memoryview(payload)[aligned(reader.offset) :]
    for value, place in zip(graph.values, places, strict=True):
        if place is not None:
            value.data = _constant(value, constants, *place)
    _check_order(graph)
    return graph


def _read_value(reader: Reader, graph: Graph) -> tuple[int, int] | None:
    dtype, rank, flags = reader.numbers("3B")
    shape = reader.numbers(f"{rank}I")
    if dtype >= len(DTYPES) or flags > 3 or prod(shape) * DTYPES[dtype].itemsize > _MOST:
        raise ValueError(f"value {len(graph.values)} of the payload has no valid type: {dtype}, {list(shape)}, {flags}")
    given = _read_quantization(reader, shape) if flags & 1 else None
    graph.add(Value(DTYPES[dtype], shape, given))
    offset_and_size = reader.numbers("QQ") if flags & 2 else None
    return None if offset_and_size is None else (offset_and_size[0], offset_and_size[1])


def _read_quantization(reader: Reader, shape: tuple[int, ...]) -> Quantization:
    axis, low, high, count = reader.numbers("iqqI")
    expected = 1 if axis == -1 else shape[axis] if 0 <= axis < len(shape) else 0
    if count != expected:
        raise ValueError(f"a value of the payload has {count} scales on the axis {axis}; expected {expected}")
    scales, zero_points = reader.numbers(f"{count}d"), reader.numbers(f"{count}q")
    if low > high or not all(0 < scale < float("inf") for scale in scales):
        raise ValueError(f"a value of the payload has the range {low} to {high} and the scales {scales[:4]}")
    return Quantization(scales, zero_points, low, high, None if axis == -1 else axis)


def _read_call(reader: Reader, values: int) -> Call:
    name = reader.text()
    flags, low, high = reader.numbers("Bdd")
    args = _read_argument(reader, values, 0)
    if not isinstance(args, list):
        raise ValueError(f"the arguments of {name} in the payload are not a list")
    results = [reader.position(values) for _ in range(reader.count())]
    return Call(name, args, results, low if flags & 1 else None, high if flags & 2 else None)


def _read_argument(reader: Reader, values: int, depth: int) -> Any:
    (kind,) = reader.numbers("B")
    if kind == 5 and depth < _DEEPEST:
        return [_read_argument(reader, values, depth + 1) for _ in range(reader.count())]
    if kind == 4:
        return Ref(reader.position(values))
    if kind in (2, 3):
        return reader.numbers("q" if kind == 2 else "d")[0]
    if kind in (1, 6):
        (number,) = reader.numbers("B")
        if number >= (2 if kind == 1 else len(DTYPES)):
            raise ValueError(f"an argument in the payload is {number}, before offset {reader.offset}")
        return bool(number) if kind == 1 else DTYPES[number]
    if kind == 7:
        return reader.text()
    if kind:
        raise ValueError(f"an argument in the payload has the kind {kind}, before offset {reader.offset}")
    return None


def _constant(value: Value, constants: memoryview, offset: int, size: int) -> torch.Tensor:
    expected = prod(value.shape) * value.dtype.itemsize
    if size != expected or offset + size > len(constants):
        raise ValueError(
            f"a constant of the payload has bytes [{offset}, +{size}) of {len(constants)}; its shape needs {expected}"
        )
    if not size:
        return torch.empty(value.shape, dtype=value.dtype)
    return torch.frombuffer(bytearray(constants[offset : offset + size]), dtype=value.dtype).reshape(value.shape)


def _check_order(graph: Graph) -> None:
    """Checks that every value is an input, a constant or computed before it is read, and that it is computed only
    once."""
    known = {position for position, value in enumerate(graph.values) if value.data is not None}
    known.update(graph.inputs)
    for call in graph.calls:
        if not known.issuperset(call.operands()) or known.intersection(call.results):
            raise ValueError(
                f"the call of {call.name} in the payload reads a value before it is computed, or computes it twice"
            )
        known.update(call.results)
    if not known.issuperset(graph.outputs):
        raise ValueError("an output of the payload is not computed")
