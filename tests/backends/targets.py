# SPDX-License-Identifier: BSD-3-Clause
"""The targets of lowering: the kernels of the runtime under test, and its registered backends."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sdk.backends import registry
from sdk.extension.pybindings import portable_lib

if TYPE_CHECKING:
    from sdk.exir.backend.partitioner import Partitioner

REFERENCE = "SDK_REFERENCE_KERNELS"
"""Set where the runtime under test has the portable kernels alone (runtime_under_test.py)."""


ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Target:
    """A column of the suite: kernels, or a backend by its name."""

    name: str
    backend: registry.Backend | None = None

    @property
    def is_kernels(self) -> bool:
        return self.backend is None

    @property
    def nan_note(self) -> str:
        """What the backend does with NaN, if its results are not compared where eager's are NaN: the file
        `test/nan.txt` in the folder of the backend."""
        files = ROOT.glob(f"backends/**/{self.name}/test/nan.txt")
        return next((file.read_text().strip() for file in files), "")

    def partitioners(self) -> list[Partitioner]:
        return [] if self.backend is None else [self.backend.make("partitioner")]


def _missing(backend: registry.Backend) -> list[str]:
    """The packages of a backend that are not installed: its own step of the gate installs them."""
    names = (requirement.partition("==")[0] for requirement in backend.packages)
    return [name for name in names if find_spec(name) is None]


@cache
def targets() -> tuple[Target, ...]:
    """The kernels, and the backends that the runtime under test has and this machine can run, or whose declarations say
    how to run their programs without the device. Interpreters whose arithmetic is not the device's, which a
    `runner_note` says, are compared with eager by the tests of their backends, as are backends whose recipes all
    quantise."""
    if os.environ.get(REFERENCE):
        return (Target("portable"),)
    here = {name for name in portable_lib._get_registered_backend_names() if portable_lib._is_available(name)}
    backends = (
        b
        for b in registry.backends().values()
        if (b.id in here or (b.runner and not b.runner_note and not _missing(b)))
        and (b.recipes is None or b.float_recipe is not None)
    )
    return (Target("kernels"), *(Target(backend.name, backend) for backend in backends))
