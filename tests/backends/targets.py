# SPDX-License-Identifier: BSD-3-Clause
"""The targets of lowering: the kernels of the runtime under test, and its registered backends."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from sdk.backends import registry
from sdk.extension.pybindings import portable_lib

if TYPE_CHECKING:
    from sdk.exir.backend.partitioner import Partitioner

REFERENCE = "SDK_REFERENCE_KERNELS"
"""Set if the runtime under test has only the portable kernels (runtime_under_test.py)."""

INTERPRETED = "SDK_INTERPRETED"
"""`BACKEND=MODULE:FUNCTION`, which the step of a backend sets. The backend's programs then run in the interpreter of
its declaration, although the interpreter's arithmetic is not the device's. The function returns a partitioner that
lowers float32 as float32, because results in float16 differ from eager's."""

OTHER_PROCESSOR = "SDK_OTHER_PROCESSOR"
"""`NAME=COMMAND`: the command is an executor_runner for another processor, such as one in an emulator, and runs the
programs of the backend that is the default on CPUs."""


ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Target:
    """A column of the suite: kernels, or a backend.

    Attributes:
        name: The column: `kernels`, the backend's name, or that with the name of another processor.
        backend: None for kernels.
        command: The executor_runner that runs the programs; empty for this process.
        partitioner: `MODULE:FUNCTION` that makes the partitioner; empty for that of the backend's declaration.
    """

    name: str
    backend: registry.Backend | None = None
    command: str = ""
    partitioner: str = ""

    @property
    def is_kernels(self) -> bool:
        return self.backend is None

    @property
    def has_our_threads(self) -> bool:
        """Whether programs run on the thread pool of this process."""
        return not self.command and (self.backend is None or self.backend.runner is None)

    @property
    def nan_note(self) -> str:
        """The backend's treatment of NaN, if its results are not compared where eager's are NaN."""
        return self._note("nan")

    @property
    def angle_note(self) -> str:
        """The backend's limits for large operands of trigonometric functions, if these are not compared
        (`conformance.LARGEST_ANGLE`)."""
        return self._note("angles")

    def _note(self, name: str) -> str:
        """Returns a text in the folder of the backend, which the page shows; empty if the file does not exist."""
        files = ROOT.glob(f"backends/**/{self.name}/test/{name}.txt")
        return next((file.read_text().strip() for file in files), "")

    def partitioners(self) -> list[Partitioner]:
        if self.backend is None:
            return []
        return [resolve_name(self.partitioner)() if self.partitioner else self.backend.make("partitioner")]


def _missing(backend: registry.Backend) -> list[str]:
    """The packages of a backend that are not installed: its own step of the gate installs them."""
    names = (requirement.partition("==")[0] for requirement in backend.packages)
    return [name for name in names if find_spec(name) is None]


@cache
def targets() -> tuple[Target, ...]:
    """The kernels; the backends that the runtime under test has and this machine can run, or whose declarations say how
    to run their programs without the device; and another processor. An interpreter with other arithmetic than the
    device's (its declaration has a `runner_note`) runs only if INTERPRETED names its backend. Backends
    whose recipes all quantise are compared with eager by their own tests."""
    if os.environ.get(REFERENCE):
        return (Target("portable"),)
    here = {name for name in portable_lib._get_registered_backend_names() if portable_lib._is_available(name)}
    backends = [
        b
        for b in registry.backends().values()
        if (b.id in here or (b.runner and not b.runner_note and not _missing(b)))
        and (b.recipes is None or b.float_recipe is not None)
    ]
    others = [*_interpreted(), *_on_another_processor()]
    return (Target("kernels"), *(Target(backend.name, backend) for backend in backends), *others)


def _interpreted() -> list[Target]:
    return [Target(name, registry.backend(name), partitioner=place) for name, place in _pair(INTERPRETED)]


def _on_another_processor() -> list[Target]:
    defaults = [backend for backend in registry.backends().values() if backend.default_on_cpu]
    return [
        Target(f"{backend.name} on {name}", backend, command)
        for name, command in _pair(OTHER_PROCESSOR)
        for backend in defaults
    ]


def _pair(variable: str) -> list[tuple[str, str]]:
    """Splits an environment variable `NAME=VALUE`, if it is set."""
    text = os.environ.get(variable)
    if not text:
        return []
    name, _, value = text.partition("=")
    if not (name and value):
        raise ValueError(f"the environment variable {variable} is {text!r}; expected NAME=VALUE")
    return [(name, value)]
