# SPDX-License-Identifier: BSD-3-Clause
"""The delegate's reader of VGF files (backends/arm/vgf/runtime), compiled with AddressSanitizer and
UndefinedBehaviorSanitizer: it reads what Arm's library reads, and damaged files are typed errors."""

from __future__ import annotations

import copy
import json
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from arm_lowering import Call, contents_of, lower
from arm_programs import sanitized_program
from torch import nn
from vgf_tables import ABSENT, CONSTANTS, MODULES, RESOURCES, SEQUENCE, SPARSE, VgfParts, read_parts, write_parts

from sdk.backends.arm.vgf import VgfPartitioner

ROOT = Path(__file__).resolve().parents[3]
RUNTIME = ROOT / "backends/arm/vgf/runtime"
NOT_SUPPORTED, INVALID_PROGRAM = 0x10, 0x23

X = torch.randn(1, 3, 9, 9)
MODEL = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())


@pytest.fixture(scope="session")
def reader() -> Path:
    """The program print_vgf."""
    return sanitized_program("print_vgf.cpp", RUNTIME, [RUNTIME / "vgf_file.cpp", RUNTIME / "spirv_module.cpp"])


@dataclass
class Reader:
    """The reader, with a folder for its files."""

    program: Path
    folder: Path

    def run(self, *arguments: Any) -> list[Any]:
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def read(self, *files: bytes) -> list[Any]:
        paths = [self.folder / f"{number}.vgf" for number in range(len(files))]
        for path, file in zip(paths, files, strict=True):
            path.write_bytes(file)
        return self.run(*paths)


@pytest.fixture
def read(reader: Path, tmp_path: Path) -> Reader:
    return Reader(reader, tmp_path)


def _files() -> dict[str, bytes]:
    """Files of the converter: a convolution; two inputs and two outputs; booleans; float16 weights."""
    a, b = torch.randn(2, 5), torch.randn(5)
    models: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
        "convolution": (MODEL, (X,)),
        "two": (Call(lambda x, y: (x - y, x * y)), (a, b)),
        "booleans": (Call(lambda x, y: x > y), (a, b)),
        "halves": (nn.Linear(5, 3).half(), (a.half(),)),
    }
    return {
        name: lower(model, inputs, partitioner=VgfPartitioner()).payloads[0] for name, (model, inputs) in models.items()
    }


def test_it_reads_what_arms_library_reads(read: Reader) -> None:
    files = _files()
    for (name, file), ours in zip(files.items(), read.read(*files.values()), strict=True):
        path = read.folder / f"{name}.vgf"
        path.write_bytes(file)
        theirs = contents_of(path)
        assert ours["modules"] == [[each["entry_point"], each["code_size"]] for each in theirs["modules"]]
        categories = ("INPUT", "OUTPUT", "INTERMEDIATE", "CONSTANT")
        assert [(each["shape"], categories[each["category"]]) for each in ours["resources"]] == [
            (each["shape"], each["category"]) for each in theirs["resources"]
        ]
        assert [each[0] for each in ours["constants"]] == [each["mrt_index"] for each in theirs["constants"]]
        sequence = theirs["model_sequence"]
        for kind in ("inputs", "outputs"):
            assert ours[kind] == [each["mrt_index"] for each in sequence[kind]]
        (segment,), (known,) = ours["segments"], sequence["segments"]
        assert (segment["module"], segment["constants"]) == (known["module_index"], known["constants"])
        assert [each["slots"] for each in segment["sets"]] == [
            [[slot["binding"], slot["mrt_index"]] for slot in slots] for slots in known["descriptor_set_infos"]
        ]
    formats = {each["format"] for file in read.read(*files.values()) for each in file["resources"]}
    assert formats >= {76, 100}  # VK_FORMAT_R16_SFLOAT, VK_FORMAT_R32_SFLOAT


def test_constants_are_their_bytes(read: Reader) -> None:
    """The sums of the bytes equal those of the weights, for both layouts of constants."""
    model = nn.Conv2d(3, 8, 3, bias=False)
    (payload,) = lower(model, (X,), partitioner=VgfPartitioner()).payloads
    parts = read_parts(payload)
    ((resource, sparsity, data),) = parts.constants
    assert sparsity == -1 and len(data) == 4 * model.weight.numel()
    expected = int(model.weight.detach().numpy().view("u1").sum())
    old = write_parts(parts, old_constants=True)
    for found in read.read(payload, write_parts(parts), old):
        assert found["constants"] == [[resource, expected]], found


def _without_shape(parts: VgfParts) -> None:
    parts.resources[1].description = None


def _twice(parts: VgfParts) -> None:
    (slots,) = parts.sequence.segments[0].set_infos
    slots.bindings.append(slots.bindings[0])


def _sets(name: str, value: Any) -> Callable[[VgfParts], None]:
    """Sets the field at a path of attributes and indices."""

    def change(parts: VgfParts) -> None:
        *path, last = name.split(".")
        target: Any = parts
        for each in path:
            target = target[int(each)] if each.isdigit() else getattr(target, each)
        if last.isdigit():
            target[int(last)] = value
        else:
            setattr(target, last, value)

    return change


def _changes_a_word(number: int, value: int) -> Callable[[VgfParts], None]:
    def change(parts: VgfParts) -> None:
        words = list(parts.modules[0].code.words)
        words[number] = value
        parts.modules[0].code.words = words

    return change


# In the file of a convolution, resource 0 is the constant, 1 the input, 2 the output.
CHANGES: dict[str, tuple[Callable[[VgfParts], None], int, str]] = {
    "module": (
        _sets("sequence.segments.0.module_index", 1),
        INVALID_PROGRAM,
        "segment 0 has the module 1, there are 1",
    ),
    "no module": (_sets("modules", []), INVALID_PROGRAM, "segment 0 has the module 0, there are 0"),
    "no segment": (_sets("sequence.segments", []), INVALID_PROGRAM, "the sequence is damaged"),
    "another graph": (_sets("modules.0.entry_point", "main"), INVALID_PROGRAM, "the module 0 has no graph main"),
    "constants": (_sets("sequence.segments.0.constants", []), INVALID_PROGRAM, "has the constant 0, its segment has 0"),
    "bindings": (_sets("sequence.segments.0.set_infos", []), INVALID_PROGRAM, "its segment has none"),
    "another binding": (
        _sets("sequence.segments.0.set_infos.0.bindings.0.binding", 7),
        INVALID_PROGRAM,
        "the module 0 has the binding 0 of the set 0, its segment has none",
    ),
    "another shape": (
        _sets("resources.1.description.shape", [1, 3, 9, 10]),
        INVALID_PROGRAM,
        "binding 0 of the module 0 has another type than the resource 1",
    ),
    "another width": (_sets("resources.1.vk_format", 76), INVALID_PROGRAM, "another type than the resource 1"),
    "constant's shape": (
        _sets("resources.0.description.shape", [8, 9, 3, 1]),
        INVALID_PROGRAM,
        "constant 0 of the module 0 has another type than the resource 0",
    ),
    "instruction of no words": (_changes_a_word(5, 0), INVALID_PROGRAM, "has 0 words"),
    "instruction over the end": (_changes_a_word(5, 0xFFFF0011), INVALID_PROGRAM, "has 65535 words"),
    "code": (_sets("modules.0.code.words", [1, 2, 3, 4, 5]), INVALID_PROGRAM, "is not SPIR-V"),
    "short code": (_sets("modules.0.code.words", [0x07230203]), INVALID_PROGRAM, "is not SPIR-V"),
    "no code": (_sets("modules.0.code", None), NOT_SUPPORTED, "module 0 has no SPIR-V"),
    "entry point": (_sets("modules.0.entry_point", ""), INVALID_PROGRAM, "module 0 has no entry point"),
    "shader": (_sets("modules.0.type", 0), NOT_SUPPORTED, "module 0 is a compute shader"),
    "shader's segment": (_sets("sequence.segments.0.type", 0), NOT_SUPPORTED, "segment 0 runs a compute shader"),
    "binding's resource": (
        _sets("sequence.segments.0.set_infos.0.bindings.0.mrt_index", 3),
        INVALID_PROGRAM,
        "a slot has the resource 3, there are 3",
    ),
    "binding's constant": (
        _sets("sequence.segments.0.set_infos.0.bindings.0.mrt_index", 0),
        NOT_SUPPORTED,
        "a slot has the constant 0",
    ),
    "binding twice": (_twice, INVALID_PROGRAM, "the binding 0 of set 0 is there twice"),
    "set": (_sets("sequence.segments.0.set_infos.0.set_index", 32), INVALID_PROGRAM, "set has the number 32"),
    "push constants": (_sets("sequence.segments.0.push_constant_ranges", [ABSENT]), NOT_SUPPORTED, "push constants"),
    "constant's number": (
        _sets("sequence.segments.0.constants", [1]),
        INVALID_PROGRAM,
        "segment 0 has the constant 1, there are 1",
    ),
    "input": (_sets("sequence.inputs.0.mrt_index", 2), INVALID_PROGRAM, "input 0 is the resource 2"),
    "output": (_sets("sequence.outputs.0.mrt_index", 1), INVALID_PROGRAM, "output 0 is the resource 1"),
    "descriptor": (_sets("resources.1.vk_descriptor_type", 7), NOT_SUPPORTED, "resource 1 has the descriptor type 7"),
    "format": (_sets("resources.1.vk_format", 37), NOT_SUPPORTED, "resource 1 has the VkFormat 37"),
    "category": (_sets("resources.1.category", 4), INVALID_PROGRAM, "resource 1 has the category 4"),
    "no shape": (_without_shape, INVALID_PROGRAM, "resource 1 has no shape"),
    "no dimension": (_sets("resources.1.description.shape", []), INVALID_PROGRAM, "another type than the resource 1"),
    "dimensions": (_sets("resources.1.description.shape", [1] * 17), INVALID_PROGRAM, "has 17 dimensions"),
    "empty": (_sets("resources.1.description.shape.0", 0), INVALID_PROGRAM, "the size 0 in dimension 0"),
    "dynamic": (_sets("resources.1.description.shape.0", -1), INVALID_PROGRAM, "the size -1 in dimension 0"),
    "overflow": (_sets("resources.1.description.shape", [1 << 40, 1 << 40]), INVALID_PROGRAM, "in dimension 1"),
    "strides": (_sets("resources.1.description.strides", [4, 4, 4, 4]), NOT_SUPPORTED, "resource 1 is not packed"),
    "constant's resource": (_sets("constants.0", (1, -1, bytes(864))), INVALID_PROGRAM, "has the resource 1"),
    "constant's size": (_sets("constants.0", (0, -1, bytes(860))), INVALID_PROGRAM, "has 860 bytes, its resource 864"),
    "sparse": (_sets("constants.0", (0, SPARSE, bytes(864))), NOT_SUPPORTED, "constant 0 is sparse"),
}


def test_what_is_inconsistent_is_a_typed_error(read: Reader) -> None:
    """VGF-01: each message names the fault; NotSupported is for files that another delegate may run."""
    (payload,) = lower(MODEL, (X,), partitioner=VgfPartitioner()).payloads
    parts = read_parts(payload)
    packed = copy.deepcopy(parts)
    packed.resources[1].description.strides = [972, 324, 36, 4]
    changed = []
    for change, _, _ in CHANGES.values():
        each = copy.deepcopy(parts)
        change(each)
        changed.append(write_parts(each))
    unchanged, with_strides, *found = read.read(write_parts(parts), write_parts(packed), *changed)
    assert unchanged == with_strides and "error" not in unchanged
    for (name, (_, error, text)), ours in zip(CHANGES.items(), found, strict=True):
        assert ours.get("error") == error and text in ours["message"], (name, ours)


def test_sections_outside_of_the_file_are_errors(read: Reader) -> None:
    (payload,) = lower(MODEL, (X,), partitioner=VgfPartitioner()).payloads
    huge, files = (1 << 64) - 8, []
    for index, name in enumerate((MODULES, SEQUENCE, RESOURCES, CONSTANTS)):
        offset, size = struct.unpack_from("<QQ", payload, 16 + 16 * index)
        for where in ((0, size), (len(payload) + 1, 0), (offset, len(payload)), (offset, huge), (huge, 16)):
            changed = bytearray(payload)
            struct.pack_into("<QQ", changed, 16 + 16 * index, *where)
            files.append((name, bytes(changed)))
    for (name, _), found in zip(files, read.read(*(file for _, file in files)), strict=True):
        assert found.get("error") == INVALID_PROGRAM and f"the section of {name} is" in found["message"], found
    other = bytearray(payload)
    other[8] = 1
    empty, short, foreign, later = read.read(b"", payload[:127], b"VGF2" + payload[4:], bytes(other))
    for found in (empty, short, foreign):
        assert found["error"] == INVALID_PROGRAM and "is not a VGF file" in found["message"]
    assert later == {"error": NOT_SUPPORTED, "message": "the VGF file has version 1.4, expected 0.x"}


def test_a_small_file_does_not_make_a_large_model(read: Reader) -> None:
    """Offsets of several segments may lead to one table with many constants, of which each segment would get a copy. No
    writer makes such a file, so the test builds its bytes."""
    (payload,) = lower(MODEL, (X,), partitioner=VgfPartitioner()).payloads
    segments, constants = 2000, 20_000
    at = 24 + 4 * segments  # the vtable of the segment; its table follows
    section = struct.pack("<IHHHHiII", 12, 6, 8, 4, 0, 8, 4, segments)
    section += b"".join(struct.pack("<I", at + 24 - (24 + 4 * index)) for index in range(segments))
    section += struct.pack("<12H", 22, 12, 4, 0, 0, 0, 0, 0, 8, 0, 0, 0)  # type at byte 4, constants at byte 8
    section += struct.pack("<iIII", 24, 1, 4, constants) + bytes(4 * constants)
    offset = len(payload) + -len(payload) % 8
    file = bytearray(payload.ljust(offset, b"\0") + section)
    struct.pack_into("<QQ", file, 32, offset, len(section))
    one = bytearray(file)
    struct.pack_into("<I", one, offset + 20, 1)
    alone, found = read.read(bytes(one), bytes(file))
    assert "its segment has none" in alone["message"]  # it is read, and its module is not of this sequence
    assert found["error"] == INVALID_PROGRAM and "the sequence is damaged" in found["message"]


def test_random_damage_never_harms(read: Reader) -> None:
    """A file that is damaged at random places is refused, or is consistent, so that each of its bytes can be read."""
    files = _files()
    for name in ("convolution", "two"):
        path = read.folder / "seed.vgf"
        path.write_bytes(files[name])
        (unharmed,) = read.run("--damage", 5000, path)
        assert 0 < unharmed < 5000
