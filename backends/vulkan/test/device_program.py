# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs on the device and compares their results with expected results.

With VULKAN_RECORD=FOLDER, each program is also written to FOLDER, with the inputs and expected results of its calls.
`vulkan_replay` then repeats the comparison on another machine, without Python. FOLDER/TEST_FILE/TEST.N.bpte is a
bundled program. TEST.N.calls beside it has a line for each call, in order: the method, the number of the method's test
case, the relative and the absolute tolerance, and the largest mean difference.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

VARIABLE = "VULKAN_RECORD"

load: Callable[[bytes], Any] = _load_for_executorch_from_buffer
"""Loads a program on the device. Tests in a browser set another function."""

_recorded: list[DeviceProgram] = []
_numbers: Counter[str] = Counter()


class DeviceProgram:
    """A program that is loaded."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.loaded = load(data)
        self.lines: list[str] = []
        self.cases: dict[str, list[tuple[list[Any], list[torch.Tensor]]]] = {}
        if VARIABLE in os.environ:
            _recorded.append(self)

    def check(
        self,
        inputs: Sequence[Any],
        expected: torch.Tensor | Sequence[torch.Tensor],
        rtol: float,
        atol: float,
        *,
        mean: float = math.inf,
        method: str = "forward",
        names: Sequence[str] = (),
    ) -> None:
        """Runs a method. Elements may differ by `atol + rtol * |expected|`, and by `mean` on average over all results.
        `names` are those of the results, for messages."""
        expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
        found = self.loaded.run_method(method, list(inputs))
        differences = []
        for index, (result, wanted) in enumerate(zip(found, expected, strict=True)):
            name = names[index] if names else f"result {index}"
            assert result.dtype == wanted.dtype, name
            torch.testing.assert_close(
                result, wanted, rtol=rtol, atol=atol, equal_nan=True, msg=lambda text, name=name: f"{name}: {text}"
            )
            if mean < math.inf:
                differences.append((result.double() - wanted.double()).abs().flatten())
        assert not differences or float(torch.cat(differences).mean()) <= mean
        if VARIABLE in os.environ:
            cases = self.cases.setdefault(method, [])
            self.lines.append(f"{method} {len(cases)} {rtol!r} {atol!r} {mean!r}\n")
            cases.append(([_copied(value) for value in inputs], [_copied(wanted) for wanted in expected]))

    def write(self, path: Path) -> None:
        """Writes the bundled program and its calls."""
        from sdk.devtools import BundledProgram
        from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
        from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer

        path.parent.mkdir(parents=True, exist_ok=True)
        program = path.with_suffix(".pte")
        program.write_bytes(self.data)
        suites = [
            MethodTestSuite(name, [MethodTestCase(*case) for case in cases]) for name, cases in self.cases.items()
        ]
        bundle = BundledProgram(None, suites, str(program))
        path.write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
        path.with_suffix(".calls").write_text("".join(self.lines))
        program.unlink()


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def recorded() -> list[DeviceProgram]:
    """The recorded programs that are not written yet."""
    return list(_recorded)


def write_recorded(test: str) -> None:
    """Writes the programs that a test (its node id) ran, if they are recorded."""
    file, _, name = test.partition("::")
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:100].strip("_")
    for program in _recorded:
        if program.lines and VARIABLE in os.environ:
            folder = Path(os.environ[VARIABLE]) / Path(file).stem
            program.write(folder / f"{name}.{_numbers[test]}.bpte")
            _numbers[test] += 1
    _recorded.clear()
