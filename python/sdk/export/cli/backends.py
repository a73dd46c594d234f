# SPDX-License-Identifier: BSD-3-Clause
"""`--backend` and `--quantize` on the command line, by the declarations of the backends. Imports no torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from sdk.backends import registry
from sdk.backends.registry import PORTABLE, Backend, BackendError, QuantizationScheme
from sdk.export.cli.errors import CommandError, closest

if TYPE_CHECKING:
    from sdk.exir.backend.partitioner import Partitioner
    from sdk.export.cli.arguments import Options

T = TypeVar("T")


def backend_names() -> list[str]:
    """The values of `--backend`: the declared backends, and `portable`."""
    return [*registry.backends(), PORTABLE]


def known_backend(name: str) -> str:
    """Returns `name`. Raises BackendError if the backend does not exist or its declaration is broken."""
    if name not in backend_names():
        if name in registry.broken():
            raise registry.broken()[name]
        known = ", ".join(backend_names())
        raise BackendError(
            f"there is no backend `{name}`; the known ones are: {known}.{closest(name, backend_names())}"
        )
    return name


def default_backends() -> tuple[str, ...]:
    """The backends that lower a model if the user names none. Raises BackendError if two backends have
    `default_on_cpu`."""
    default = registry.default_backend()
    return (PORTABLE,) if default is None else (default.name, PORTABLE)


def schemes() -> dict[str, list[Backend]]:
    """The values of `--quantize`, and the backends that have a scheme of this name."""
    found: dict[str, list[Backend]] = {}
    for declared in registry.backends().values():
        for name in declared.quantization:
            found.setdefault(name, []).append(declared)
    return found


def scheme(name: str, backends: Sequence[str]) -> QuantizationScheme:
    """Returns the scheme `name` of the first backend, because this backend gets the quantised layers.

    Raises:
        BackendError: the first backend has no such scheme.
    """
    declared = registry.backends().get(backends[0])
    if declared is not None and name in declared.quantization:
        return declared.quantization[name]
    offered = declared.quantization if declared is not None else ()
    has = f"it has {', '.join(offered)}" if offered else "it has no scheme"
    others = ", ".join(backend.name for backend in schemes()[name])
    raise BackendError(
        f"--quantize {name} is not for {backends[0]}, the first of the backends: {has}. Name one that has it first "
        f"with --backend: {others}."
    )


def check_float16(backends: Sequence[str]) -> None:
    """Raises BackendError if one of the backends does not compute float16 programs."""
    able = [backend.name for backend in registry.backends().values() if backend.float16]
    for name in backends:
        if name not in (*able, PORTABLE):
            raise BackendError(
                f"--dtype float16 is not for {name}, which takes no float16 programs. Name backends that do with "
                f"--backend: {', '.join([*able, PORTABLE])}."
            )


def partitioners(names: Iterable[str]) -> list[Partitioner]:
    """The partitioners of the named backends, in the order of their priority. Raises CommandError."""
    return [
        told(lambda name=name: registry.backend(name).make("partitioner"))  # type: ignore[misc]
        for name in names
        if name != PORTABLE
    ]


def without_delegate(names: Sequence[str]) -> Backend | None:
    """Returns the named backend that lowers to operators instead of delegates, or None if all named backends have
    delegates.

    Raises:
        BackendError: another backend is named beside it, whose part of the model would be lowered to operators, too.
    """
    named = [registry.backends()[name] for name in names if name != PORTABLE]
    alone = next((backend for backend in named if backend.partitioner is None), None)
    if alone is not None and len(named) > 1:
        others = ", ".join(backend.name for backend in named if backend is not alone)
        raise BackendError(
            f"--backend {alone.name} lowers a whole model to operators with kernels, and leaves nothing to {others}. "
            f"Name it alone."
        )
    return alone


def told(use: Callable[[], T]) -> T:
    """Calls `use` and returns its result. A BackendError becomes a CommandError, which the user reads."""
    try:
        return use()
    except BackendError as error:
        raise CommandError(str(error)) from error


def settled(options: Options, notes: list[str]) -> Options:
    """Returns the options with the backends to use. If the user names neither a backend nor `--quantize` and the
    installed runtime lacks the default backend, the program is exported for the kernels alone, with a note in
    `notes`."""
    if not options.by_default:
        return options
    if options.backends == (PORTABLE,):
        notes += [f"There is no default backend: {error}" for error in registry.broken().values()]
    missing = missing_in_runtime(options.backends)
    if not missing or options.quantize:
        return options
    ids = ", ".join(backend.id for backend in missing)
    notes.append(
        f"The installed runtime has no {ids}, so the model was not given to {missing[0].name}, the default backend. "
        f"--backend {missing[0].name} does it nevertheless; --backend {PORTABLE} exports without this note."
    )
    return dataclasses.replace(options, backends=(PORTABLE,))


def missing_in_runtime(names: Iterable[str]) -> list[Backend]:
    """The named backends that the installed runtime lacks; none if no runtime is installed."""
    try:
        from sdk.extension.pybindings import portable_lib
    except ImportError:
        return []
    known = set(portable_lib._get_registered_backend_names())
    declared = [registry.backends()[name] for name in names if name != PORTABLE]
    return [backend for backend in declared if backend.partitioner is not None and backend.id not in known]
