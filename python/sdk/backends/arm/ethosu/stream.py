# SPDX-License-Identifier: BSD-3-Clause
"""The payload of a delegate of `EthosUBackend`: blocks with a name and a length.

    16 bytes   the name, filled with zeros
     4 bytes   the length of the data, a little-endian integer
    12 bytes   zeros
               the data, filled with zeros to a multiple of 16 bytes

The blocks are `vela_bin_stream`, which is empty, `cmd_data`, `weight_data`, `scratch_size`, `inputs`, `outputs`, and
`vela_end_stream`, which is empty. `inputs` and `outputs` are a count and, for each, nine integers of 32 bits: the
shape in six dimensions, the bytes of an element, the offset, and the region. The format is ExecuTorch's.

With `EthosUCompileSpec.store_cycles`, the block `cycles` follows `outputs`: the clock in Hz and the cycles of each
command, integers of 32 bits. ExecuTorch does not have it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_HEAD = struct.Struct("<16sI12x")
_EDGE = struct.Struct("<9i")
_FIRST, _LAST = b"vela_bin_stream", b"vela_end_stream"
_CYCLES = b"cycles"
_ALIGNMENT = 16


@dataclass(frozen=True)
class Edge:
    """An input or an output.

    Attributes:
        shape: Six dimensions, the first ones 1.
        element_size: The size of an element in bytes.
        offset: Its offset in its region, in bytes.
        region: The number of the region: 1 is the scratch memory.
    """

    shape: tuple[int, ...]
    element_size: int
    offset: int
    region: int


@dataclass(frozen=True)
class Timing:
    """How long Vela expects the commands to take.

    Attributes:
        clock: The clock of the NPU, in Hz.
        commands: The cycles of each command that computes or copies, in the order of the stream.
    """

    clock: int
    commands: tuple[int, ...]

    @property
    def cycles(self) -> int:
        """The cycles of all commands."""
        return sum(self.commands)


@dataclass(frozen=True)
class VelaStream:
    """A compiled partition.

    Attributes:
        commands: The command stream, for Arm's driver.
        weights: Compressed weights and scales: region 0.
        scratch_size: The bytes of the scratch memory, in which inputs, outputs and intermediate results lie: region 1.
        inputs, outputs: The inputs and outputs, in the order of the partition's arguments.
        timing: How long the commands take, if the payload contains this.
    """

    commands: bytes
    weights: bytes
    scratch_size: int
    inputs: tuple[Edge, ...]
    outputs: tuple[Edge, ...]
    timing: Timing | None = None

    def to_bytes(self) -> bytes:
        """The payload."""
        blocks = {
            _FIRST: b"",
            b"cmd_data": self.commands,
            b"weight_data": self.weights,
            b"scratch_size": struct.pack("<I", self.scratch_size),
            b"inputs": _edges_to_bytes(self.inputs),
            b"outputs": _edges_to_bytes(self.outputs),
            **({} if self.timing is None else {_CYCLES: _timing_to_bytes(self.timing)}),
            _LAST: b"",
        }
        return b"".join(
            # Empty blocks have no data and no alignment.
            _HEAD.pack(name, len(data)) + data + bytes(-len(data) % _ALIGNMENT)
            for name, data in blocks.items()
        )

    @classmethod
    def from_bytes(cls, payload: bytes) -> VelaStream:
        """Reads a payload. Raises ValueError, which names the block, if it is damaged."""
        blocks: dict[bytes, bytes] = {}
        at = 0
        while _LAST not in blocks:
            if len(payload) - at < _HEAD.size:
                raise ValueError(f"the payload ends at byte {len(payload)} without the block {_LAST.decode()}")
            name, length = _HEAD.unpack_from(payload, at)
            name, at = name.rstrip(b"\0"), at + _HEAD.size
            if not blocks and name != _FIRST:
                raise ValueError(f"the payload begins with the block {name!r}, expected {_FIRST.decode()}")
            if length > len(payload) - at:
                raise ValueError(f"the block {name!r} has {length} bytes, and {len(payload) - at} are left")
            if name in blocks:
                raise ValueError(f"the block {name!r} is there twice")
            blocks[name] = payload[at : at + length]
            at += length + -length % _ALIGNMENT
        needed = (b"cmd_data", b"weight_data", b"scratch_size", b"inputs", b"outputs")
        if missing := [name.decode() for name in needed if name not in blocks]:
            raise ValueError(f"the payload lacks the blocks {', '.join(missing)}")
        commands, weights, scratch, inputs, outputs = (blocks[name] for name in needed)
        if len(scratch) != 4:
            raise ValueError(f"the block scratch_size has {len(scratch)} bytes, expected 4")
        return cls(
            commands,
            weights,
            struct.unpack("<I", scratch)[0],
            _edges_from_bytes("inputs", inputs),
            _edges_from_bytes("outputs", outputs),
            _timing_from_bytes(blocks[_CYCLES]) if _CYCLES in blocks else None,
        )


def _edges_to_bytes(edges: tuple[Edge, ...]) -> bytes:
    packed = (_EDGE.pack(*edge.shape, edge.element_size, edge.offset, edge.region) for edge in edges)
    return struct.pack("<i", len(edges)) + b"".join(packed)


def _edges_from_bytes(name: str, data: bytes) -> tuple[Edge, ...]:
    count = struct.unpack_from("<i", data)[0] if len(data) >= 4 else -1
    if len(data) != 4 + count * _EDGE.size:
        raise ValueError(f"the block {name} has {len(data)} bytes and the count {count}")
    return tuple(Edge(values[:6], *values[6:]) for values in _EDGE.iter_unpack(data[4:]))


def _timing_to_bytes(timing: Timing) -> bytes:
    return struct.pack(f"<{1 + len(timing.commands)}I", timing.clock, *timing.commands)


def _timing_from_bytes(data: bytes) -> Timing:
    if len(data) < 4 or len(data) % 4:
        raise ValueError(f"the block {_CYCLES.decode()} has {len(data)} bytes, expected integers of 4 bytes")
    clock, *commands = struct.unpack(f"<{len(data) // 4}I", data)
    return Timing(clock, tuple(commands))
