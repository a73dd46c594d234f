# SPDX-License-Identifier: BSD-3-Clause
"""Parses VGF files and writes them again, so that tests can change every part. The tables are those of the schema of
Arm's VGF library (vgf.fbs)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from sdk.exir._serialize._flatbuffer import LONG, STRING, UINT, Bytes, Scalar, Table, Union, Vector, write_root
from sdk.exir._serialize._flatbuffer_io import Reader

MODULES, SEQUENCE, RESOURCES, CONSTANTS = "modules", "sequence", "resources", "constants"
HEADER = 128
SPARSE = 1
_UNSET = (1 << 32) - 1


@dataclass
class Spirv:
    words: list[int] = field(default_factory=list)


@dataclass
class Module:
    type: int = 0
    name: str = ""
    entry_point: str = ""
    code: Any = None


@dataclass
class Description:
    shape: list[int] = field(default_factory=list)
    strides: list[int] | None = None


@dataclass
class Resource:
    vk_descriptor_type: int = 0
    vk_format: int = 0
    category: int = 0
    description: Description | None = None


@dataclass
class Slot:
    binding: int = 0
    mrt_index: int = 0


@dataclass
class DescriptorSet:
    bindings: list[Slot] = field(default_factory=list)
    set_index: int = _UNSET


@dataclass
class PushConstants:
    stage_flags: int = 0
    offset: int = 0
    size: int = 0


ABSENT = PushConstants(1, 0, 4)


@dataclass
class Segment:
    type: int = 0
    name: str = ""
    module_index: int = 0
    set_infos: list[DescriptorSet] = field(default_factory=list)
    inputs: list[Slot] = field(default_factory=list)
    outputs: list[Slot] = field(default_factory=list)
    constants: list[int] = field(default_factory=list)
    dispatch_shape: list[int] = field(default_factory=list)
    push_constant_ranges: list[PushConstants] = field(default_factory=list)


@dataclass
class Sequence:
    segments: list[Segment] = field(default_factory=list)
    inputs: list[Slot] = field(default_factory=list)
    outputs: list[Slot] = field(default_factory=list)
    input_names: list[str] = field(default_factory=list)
    output_names: list[str] = field(default_factory=list)


@dataclass
class OldConstant:
    mrt_index: int = 0
    sparsity_dimension: int = 0
    raw: bytes = b""


@dataclass
class All:
    """The root of a section that is a list."""

    items: list[Any] = field(default_factory=list)


@dataclass
class VgfParts:
    """A file. A constant is a resource, the sparse dimension or -1, and bytes."""

    modules: list[Module]
    sequence: Sequence
    resources: list[Resource]
    constants: list[tuple[int, int, bytes]]


_BYTE = Scalar("B", "ubyte")
_NAMES = Vector(STRING)  # type: ignore[arg-type]
_SLOTS = Vector(Table(Slot, binding=UINT, mrt_index=UINT))
_CODE = Union({1: Table(Spirv, words=Vector(UINT))})
_MODULES = Table(All, items=Vector(Table(Module, type=_BYTE, name=STRING, entry_point=STRING, code=_CODE)))
_DESCRIPTION = Table(Description, shape=Vector(LONG), strides=Vector(LONG))
_RESOURCES = Table(
    All,
    items=Vector(Table(Resource, vk_descriptor_type=UINT, vk_format=UINT, category=_BYTE, description=_DESCRIPTION)),
)
_SETS = Vector(Table(DescriptorSet, bindings=_SLOTS, set_index=Scalar("I", "uint", _UNSET)))
_SEGMENTS = Vector(
    Table(
        Segment,
        type=_BYTE,
        name=STRING,
        module_index=UINT,
        set_infos=_SETS,
        inputs=_SLOTS,
        outputs=_SLOTS,
        constants=Vector(UINT),
        dispatch_shape=Vector(UINT),
        push_constant_ranges=Vector(Table(PushConstants, stage_flags=UINT, offset=UINT, size=UINT)),
    )
)
_SEQUENCE = Table(
    Sequence,
    segments=_SEGMENTS,
    inputs=_SLOTS,
    outputs=_SLOTS,
    input_names=_NAMES,
    output_names=_NAMES,
)
_OLD_CONSTANTS = Table(All, items=Vector(Table(OldConstant, mrt_index=UINT, sparsity_dimension=LONG, raw=Bytes(8))))


def read_parts(file: bytes) -> VgfParts:
    """The parts of a file of version 0.4."""
    sections = []
    for index in range(4):
        offset, size = struct.unpack_from("<QQ", file, 16 + 16 * index)
        sections.append(file[offset : offset + size])
    modules, sequence, resources = (
        table.read(Reader(section), 0, "section")
        for table, section in zip((_MODULES, _SEQUENCE, _RESOURCES), sections, strict=False)
    )
    raw = sections[3]
    assert raw[:8] == b"CONST00\0"
    (count,) = struct.unpack_from("<Q", raw, 8)
    constants = []
    for index in range(count):
        resource, sparsity, size, offset = struct.unpack_from("<IiQQ", raw, 16 + 24 * index)
        start = 16 + 24 * count + offset
        constants.append((resource, sparsity, raw[start : start + size]))
    return VgfParts(modules.items, sequence, resources.items, constants)


def write_parts(parts: VgfParts, old_constants: bool = False) -> bytes:
    """Writes a file with these parts. With `old_constants`, the constants have the form of files before version 0.4."""
    sections = [
        b"".join(write_root(table, value, b"\0\0\0\0", 8).parts)
        for table, value in (
            (_MODULES, All(parts.modules)),
            (_SEQUENCE, parts.sequence),
            (_RESOURCES, All(parts.resources)),
            (_OLD_CONSTANTS, All([OldConstant(*constant) for constant in parts.constants])),
        )
    ]
    if not old_constants:
        records, data = b"", b""
        for resource, sparsity, raw in parts.constants:
            records += struct.pack("<IiQQ", resource, sparsity, len(raw), len(data))
            data += raw + bytes(-len(raw) % 8)
        sections[3] = b"CONST00\0" + struct.pack("<Q", len(parts.constants)) + records + data
    header, body = struct.pack("<4sHHBBBBI", b"VGF1", 0, 0, 0, 4, 0, 0, 0), b""
    for section in sections:
        header += struct.pack("<QQ", HEADER + len(body), len(section))
        body += section + bytes(-len(section) % 8)
    return header.ljust(HEADER, b"\0") + body
