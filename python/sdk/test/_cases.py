# SPDX-License-Identifier: BSD-3-Clause
"""The cases of a bundled program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdk.command import CommandError, closest
from sdk.command.programs import bundled_value, load, read_bundle
from sdk.util.words import counted


@dataclass(frozen=True)
class Case:
    """A case: as values of the schema, for runners, and as values for the Python runtime."""

    method: str
    number: int
    raw_inputs: Sequence[Any]
    raw_outputs: Sequence[Any]

    def inputs(self) -> list[Any]:
        return [as_tensor(value) for value in map(bundled_value, self.raw_inputs)]

    def outputs(self) -> list[Any]:
        return [as_tensor(value) for value in map(bundled_value, self.raw_outputs)]


@dataclass(frozen=True)
class Bundle:
    """A bundled program: the bytes of its program, and its cases."""

    name: str
    program: bytes
    cases: Sequence[Case]
    data: Sequence[Path]

    def load(self) -> Any:
        """The program in the runtime of this process. Raises CommandError."""
        return load(self.program, self.name, self.data)


def read(path: Path, data: Sequence[Path], method: str | None, case: int | None) -> Bundle:
    """Reads a bundled program with the requested cases. Raises CommandError if it has no such cases."""
    content = read_bundle(path)
    bundle = Bundle(str(path), bytes(content.program), list(_cases(content, method, case)), data)
    known = [suite.method_name for suite in content.method_test_suites]
    if method is not None and method not in known:
        raise CommandError(
            f"`{path}`: expected cases of the method `{method}`, found those of {', '.join(known) or 'none'}."
            f"{closest(method, known)}"
        )
    if not bundle.cases:
        counts = {suite.method_name: len(suite.test_cases) for suite in content.method_test_suites}
        has = [f"{name} has {counted(counts[name], 'case')}" for name in known if method in (None, name)]
        asked = "" if case is None else f", so that there is no case {case}: the first one is number 0"
        raise CommandError(f"`{path}`: expected test cases, but {', '.join(has) or 'it has none'}{asked}")
    for one in bundle.cases:  # report damage before anything runs
        one.inputs()
        one.outputs()
    return bundle


def _cases(content: Any, method: str | None, case: int | None) -> Iterator[Case]:
    for suite in content.method_test_suites:
        for number, one in enumerate(suite.test_cases):
            if method in (None, suite.method_name) and case in (None, number):
                yield Case(suite.method_name, number, one.inputs, one.expected_outputs)


def as_tensor(value: Any) -> Any:
    """An array as a tensor; other values unchanged."""
    if not hasattr(value, "dtype") or hasattr(value, "detach"):
        return value
    import torch

    return torch.from_numpy(value)
