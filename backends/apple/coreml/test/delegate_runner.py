# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs on the delegate in C++, over the stand-in of Core ML, whose results the interpreter computes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.backends.apple.coreml.container import Tree, file_at, unpack, unpack_shared
from sdk.backends.apple.coreml.verify import CoreMLProgram
from sdk.backends.apple.coreml.verify.program import ReferenceProgram
from sdk.exir.schema import ScalarType
from sdk.exir.tensor import get_scalar_type, scalar_type_enum

ROOT = Path(__file__).resolve().parents[4]
BUILD = ROOT / "build" / "coreml"
RUNNER = BUILD / "backends" / "apple" / "coreml" / "test" / "coreml_run_program"
ARRAY_TYPES = {torch.float16: 0x10010, torch.float32: 0x10020, torch.int32: 0x20020}
"""MLMultiArrayDataType by dtype, as Apple's headers have it."""


@dataclass
class Call:
    """The runner's output for a call."""

    error: str
    addresses: list[int]
    outputs: list[torch.Tensor]
    numbers: list[int]
    """The numbers that the command `time` printed."""


class Device:
    """A program in a file, with the records of the stand-in, and folders for the files that the delegate writes."""

    def __init__(self, program: bytes, folder: Path) -> None:
        if not RUNNER.exists():
            pytest.skip("backends/apple/coreml/test/check_runtime, which builds the delegate, was not run here")
        self.program = folder / "model.pte"
        self.program.write_bytes(program)
        self.folder, self.records, self.log = folder, folder / "records", folder / "calls.log"
        self.cache, self.temporary, self.caches = folder / "cache", folder / "temporary", folder / "Library" / "Caches"
        for each in (self.records, self.temporary):
            each.mkdir()
        self._gnustep = folder / "GNUstep.conf"
        self._gnustep.write_text("GNUSTEP_USER_DIR_LIBRARY=./Library\n")
        self.stderr = ""
        self._files = 0

    def record(self, calls: Sequence[tuple[str, Sequence[torch.Tensor]]], **extra: Any) -> list[list[torch.Tensor]]:
        """Records the interpreter's results for calls of methods, and `extra`. The stand-in will return them."""
        delegates: list[_Recorded] = []

        class Recorder(ReferenceProgram):
            @staticmethod
            def interpret(payload: bytes | memoryview, named_data: Any) -> CoreMLProgram:
                delegates.append(_Recorded(payload, named_data))
                return delegates[-1]

        reference = Recorder(self.program)
        results = [reference.run_method(method, inputs) for method, inputs in calls]
        for delegate in delegates:
            delegate.write(self.records, extra)
        return results

    def file_of(self, tensor: torch.Tensor) -> str:
        """An input as the runner reads it. Its bytes are in the order of its memory."""
        path = self.folder / f"input{self._files}"
        self._files += 1
        order = tensor.dim_order()
        path.write_bytes(tensor.permute(order).contiguous().numpy().tobytes())
        sizes, axes = ("x".join(map(str, each)) for each in (tensor.shape, order))
        return f"{int(scalar_type_enum(tensor.dtype))}:{sizes}:{axes}:{path}"

    def call_line(self, method: str, inputs: Sequence[torch.Tensor]) -> str:
        prefix = self.folder / f"output{self._files}"
        return " ".join(["call", method, str(prefix), *map(self.file_of, inputs)])

    def run(self, lines: Sequence[str], **environment: str) -> list[Call]:
        """Runs the lines in a process, each with its result."""
        script = self.folder / "script"
        script.write_text("".join(line + "\n" for line in lines))
        done = self.start(RUNNER, self.program, script, **environment)
        found = done.stdout.splitlines()
        assert len(found) == len(lines)
        return [_read(line, text) for line, text in zip(lines, found, strict=True)]

    def start(self, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs a command on the stand-in with the records. The command must succeed."""
        done = subprocess.run(
            command,
            env={
                **os.environ,
                "COREML_STAND_IN_RECORDS": str(self.records),
                "COREML_STAND_IN_LOG": str(self.log),
                # GNUstep takes the home folder from the user database, not from HOME, and does not read TMPDIR.
                "GNUSTEP_CONFIG_FILE": str(self._gnustep),
                "TEMP": str(self.temporary),
                "ASAN_OPTIONS": "detect_leaks=0",
                **environment,
            },
            capture_output=True,
            text=True,
        )
        self.stderr = done.stderr
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def run_calls(self, calls: Sequence[tuple[str, Sequence[torch.Tensor]]], **environment: str) -> list[Call]:
        """Calls methods, with a cache of compiled models in this folder."""
        lines = [f"set cache_dir {self.cache}", *(self.call_line(method, inputs) for method, inputs in calls)]
        return self.run(lines, **environment)[1:]

    def logged(self) -> list[str]:
        """Returns the calls that the stand-in has received since the last time."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


class _Recorded(CoreMLProgram):
    """The interpreter of a payload, which keeps what it computes."""

    def __init__(self, payload: bytes | memoryview, named_data: Any) -> None:
        made = CoreMLProgram.from_payload(payload, named_data)
        super().__init__(made.model, made._names)
        shared = unpack_shared(payload)
        package = unpack(named_data(shared.key) if shared else payload)[1]["model.mlpackage"]
        assert isinstance(package, dict)
        self._hash = hashlib.md5(bytes(_model_of(package))).hexdigest()
        self._function = shared.function_name if shared else "main"
        self._calls: list[dict[str, Any]] = []

    def run(self, method_name: str, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        results = super().run(method_name, inputs)
        given, returned = next(iter(self._names.values()))
        types = self._types(given)
        self._calls.append(
            {
                "step": len(self._calls),
                "inputs": {n: _array(t.to(types[n])) for n, t in zip(given, inputs, strict=True)},
                "outputs": {n: _array(t) for n, t in zip(returned, results, strict=True)},
            }
        )
        return results

    def write(self, folder: Path, extra: dict[str, Any]) -> None:
        given, returned = next(iter(self._names.values()))
        shapes = self._shapes()
        types = self._types(given)
        record = {
            "inputs": [
                {"name": n, "type": ARRAY_TYPES[types[n]], **({"shapes": shapes[n]} if n in shapes else {})}
                for n in given
            ],
            "outputs": [{"name": n, "type": 0} for n in returned],
            "states": len(next(iter(self._functions.values())).states) if self._functions else 0,
            "calls": [{**call, **extra} for call in self._calls],
        }
        (folder / f"{self._hash}.{self._function}.json").write_text(json.dumps(record))

    def _described(self) -> list[Any]:
        description = self.model.spec.description
        named = next((each for each in description.functions if each.name == self._function), description)
        return list(named.input)

    def _types(self, names: Sequence[str]) -> dict[str, torch.dtype]:
        dtypes = {number: dtype for dtype, number in ARRAY_TYPES.items()}
        found = {entry.name: dtypes[entry.type.multiArrayType.dataType] for entry in self._described()}
        return {name: found[name] for name in names}

    def _shapes(self) -> dict[str, list[list[int]]]:
        kinds = {entry.name: entry.type.multiArrayType for entry in self._described()}
        return {
            name: [list(shape.shape) for shape in kind.enumeratedShapes.shapes]
            for name, kind in kinds.items()
            if kind.WhichOneof("ShapeFlexibility") == "enumeratedShapes"
        }


def _model_of(package: Tree) -> bytes | memoryview:
    return file_at(package, "Data", "com.apple.CoreML", "model.mlmodel")


def _array(tensor: torch.Tensor) -> dict[str, Any]:
    tensor = tensor.detach().contiguous()
    tensor = tensor.reshape(1) if tensor.dim() == 0 else tensor
    data = base64.b64encode(tensor.numpy().tobytes()).decode()
    return {"type": ARRAY_TYPES[tensor.dtype], "shape": list(tensor.shape), "data": data}


def _read(line: str, text: str) -> Call:
    """`TYPE:SIZES@ADDRESS ... -> TYPE:SIZES ... ERROR`"""
    given, _, returned = text.rpartition("->")
    *described, error = returned.split()
    if not line.startswith("call"):
        return Call(error, [], [], [int(number) for number in described])
    outputs = []
    for index, each in enumerate(described):
        number, _, sizes = each.partition(":")
        shape = [int(size) for size in sizes.split("x") if size]
        data = bytearray(Path(f"{line.split()[2]}.{index}").read_bytes())
        dtype = get_scalar_type(ScalarType(int(number)))
        outputs.append((torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)).reshape(shape))
    return Call(error, [int(word.partition("@")[2], 16) for word in given.split()], outputs, [])
