# SPDX-License-Identifier: BSD-3-Clause
"""The engines of `scripts/bench`: one module each, found by its name.

`litert` and `litert-int8` are engines of the module `litert`, whose `DECLARATION` says how to run them. A new engine is
a new module, with `NAME.txt` beside it if it needs other packages.
"""

from __future__ import annotations

import pkgutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

PRECISIONS = {"float32": "", "int8": "-int8"}
"""The precisions that are measured, each with the suffix of the engines' names for it."""
ON_REQUEST = {"float16": "-half"}
"""The precisions that `scripts/bench --peers` measures only if `--precisions` names them."""
PEER_PYTHON = "BENCH_PEER_PYTHON"  # where a worker that writes programs finds the engine's own converter
CONVERSION_SECONDS = 900


class ImpossibleError(RuntimeError):
    """An engine does not support a request. Tables show the text."""


@dataclass(frozen=True)
class Declaration:
    """How to run the engines of a module.

    Attributes:
        title: Their column in tables.
        color: The color of their dots in docs/peers.svg.
        packages: Distributions whose versions the tables print.
        suffix: The suffix of their programs.
        make: Makes an engine from its name and a number of threads. An engine has `export`, `prepare`, `load` and
            `first_result`, which `worker.py` calls.
        environment: The Python that runs them: this one ("sdk"), that of tests/interop ("oracle"), or one with the
            packages of `NAME.txt` ("own").
        writer: The Python that writes their programs, which needs torch.
        peer: The float32 engine that `scripts/bench --peers` measures; None for none.
        beside: The engine that it measures for a backend of this SDK, by the backend's name: one for the same
            processors.
        lowers: Whether `torch.export` and the lowering after it can be measured apart.
        half: Whether its engines `NAME-half` compute in float16; otherwise there are none.
    """

    title: str
    color: str
    packages: tuple[str, ...]
    suffix: str
    make: Callable[[str, int], Any]
    environment: Literal["sdk", "oracle", "own"] = "own"
    writer: Literal["sdk", "oracle", "own"] = "oracle"
    peer: str | None = None
    beside: Mapping[str, str] = field(default_factory=dict)
    lowers: bool = False
    half: bool = False


def known() -> list[str]:
    """The names of the modules."""
    return sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))


def module_of(engine: str) -> str:
    """`litert` for `litert-int8`. Raises ValueError for an engine that no module has."""
    name = engine.partition("-")[0]
    if name not in known():
        raise ValueError(f"there is no engine {engine!r}; the modules of tests/bench/engines are {', '.join(known())}")
    return name


def declaration(engine: str) -> Declaration:
    """The declaration of the module that has `engine`."""
    found = import_module(f"{__name__}.{module_of(engine)}").DECLARATION
    assert isinstance(found, Declaration)
    return found


def peers(backend: str = "") -> dict[str, str]:
    """Returns the columns of `--peers` and their float32 engines, the original first. If engines are declared in the
    folder of the backend, returns only those."""
    declared = [declaration(name) for name in known()]
    found = {one.title: one.beside[backend] for one in declared if backend in one.beside}
    found = found or {one.title: one.peer for one in declared if one.peer}
    return dict(sorted(found.items(), key=lambda item: item[0] != "original"))


def is_int8(engine: str) -> bool:
    return engine.endswith(PRECISIONS["int8"])


def is_half(engine: str) -> bool:
    """Whether weights and activations are float16. Inputs and results are float32 in any case."""
    return engine.endswith(ON_REQUEST["float16"])


def run_converter(*command: str) -> str:
    """Runs an engine's converter and returns what it printed; its last line is the reason if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=CONVERSION_SECONDS)
    printed = done.stderr + done.stdout
    if done.returncode:
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        ended = f"its converter ended with {done.returncode}"
        raise ImpossibleError(f"{ended}: {lines[-1]}" if lines else ended)
    return printed
