# SPDX-License-Identifier: BSD-3-Clause
"""The backends that `--backend` and `--recipe` know. A new one is one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sdk.exir.backend.partitioner import Partitioner
    from sdk.export.recipe_provider import BackendRecipeProvider


class Backend(NamedTuple):
    """Where the parts of a backend are: `module:name`, imported when they are used."""

    partitioner: str | None = None  # a class or function that makes its partitioner
    recipes: str | None = None  # its BackendRecipeProvider


BACKENDS: dict[str, Backend] = {
    "portable": Backend(),  # the portable kernels: no partitioner takes anything away from them
    "xnnpack": Backend(
        "sdk.backends.xnnpack.partition.xnnpack_partitioner:XnnpackPartitioner",
        "sdk.backends.xnnpack.recipes:XNNPACKRecipeProvider",
    ),
}


def partitioners(names: Iterable[str]) -> list[Partitioner]:
    """The partitioners of the named backends, in the order of their priority."""
    places = [BACKENDS[name].partitioner for name in names]
    return [_found(place)() for place in places if place is not None]


def recipe_providers() -> list[BackendRecipeProvider]:
    """A provider for each backend that offers recipes."""
    return [_found(backend.recipes)() for backend in BACKENDS.values() if backend.recipes is not None]


def _found(place: str) -> Callable[[], Any]:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
