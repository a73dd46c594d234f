# SPDX-License-Identifier: BSD-3-Clause
"""Optional packages: programs run with NumPy alone; making and examining programs needs more packages, which are
imported when they are used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

EXTRAS = {
    "PIL": ("Pillow", "pictures"),
    "huggingface_hub": ("huggingface_hub", "llm"),
    "jinja2": ("jinja2", "codegen"),
    "omegaconf": ("OmegaConf", "llm"),
    "pandas": ("pandas", "devtools"),
    "safetensors": ("safetensors", "llm"),
    "tensorboard": ("TensorBoard", "tensorboard"),
    "tokenizers": ("tokenizers", "examples"),
    "torch": ("PyTorch", "export"),
    "torchao": ("torchao", "quantization"),
    "transformers": ("transformers", "examples"),
    "yaml": ("PyYAML", "codegen"),
}
"""A module that is imported -> the name of its package, and the extra that installs it. What backends need is in their
declarations."""


def install_hint(error: ModuleNotFoundError, extra: str | None = None) -> str:
    """Returns `needs PyTorch: pip install 'pte-sdk[export]'` if an import failed because an extra is not installed; ""
    for other modules. `extra` is the one to name if the caller's work needs more than the missing package."""
    package, own = EXTRAS.get((error.name or "").partition(".")[0], ("", ""))
    return f"needs {package}: pip install 'pte-sdk[{extra or own}]'" if package else ""


@contextmanager
def needing_torch(what: str) -> Iterator[None]:
    """While active, an import that fails because PyTorch is missing raises an error: `what` needs PyTorch, and how to
    install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        hint = install_hint(error)
        if (error.name or "").partition(".")[0] != "torch" or hint in str(error):
            raise
        raise ModuleNotFoundError(f"{what} {hint}", name=error.name) from None


def lazily(namespace: dict[str, Any], places: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package with the given globals, whose names are imported when they are first used.
    `places` has the module of each name: a full name, or the name of a submodule of the package."""

    def find(name: str) -> Any:
        package = namespace["__name__"]
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place = places[name] if "." in places[name] else f"{package}.{places[name]}"
        with needing_torch(f"{package}.{name}"):
            namespace[name] = getattr(importlib.import_module(place), name)
        return namespace[name]

    return find


def shadowed(name: str) -> property:
    """The value `name` of the submodule `name`, for the class of a package. When the submodule is imported, Python
    assigns it to this attribute. The setter ignores that, so that the attribute keeps its value."""

    def get(package: ModuleType) -> Any:
        with needing_torch(f"{package.__name__}.{name}"):
            return getattr(importlib.import_module(f"{package.__name__}.{name}"), name)

    def keep(package: ModuleType, submodule: Any) -> None:
        pass

    return property(get, keep)
