# SPDX-License-Identifier: BSD-3-Clause
"""The settings of each backend. Names and defaults are ExecuTorch's.

A backend declares its own settings (`Backend.language_models`); here are the settings of backends that only ExecuTorch
has.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from typing import Any

from sdk.backends import registry


@dataclass
class TorchAOKernelsConfig:
    """torchao's kernels for low-bit weights."""

    use_torchao_kernels_linear: bool = False
    use_torchao_kernels_tied_embedding: bool = False


@dataclass
class TosaConfig:
    """TOSA."""

    enabled: bool = False
    version: str = "TOSA-1.0+INT"


@dataclass
class MLXConfig:
    """MLX."""

    enabled: bool = False


def _groups() -> type:
    """A dataclass with the settings of each declared backend, the default one for CPUs first."""
    first = {declared.identifier for declared in registry.backends().values() if declared.default_on_cpu}
    order = sorted(settings_of_backends().items(), key=lambda each: each[0] not in first)
    return make_dataclass("BackendGroups", [(name, kind, field(default_factory=kind)) for name, kind in order])


@cache
def settings_of_backends() -> dict[str, type]:
    """The dataclass of the settings of each backend that has some, by the backend's identifier."""
    return {
        declared.identifier: declared.imported(declared.language_models.settings, "language_models")
        for declared in registry.backends().values()
        if declared.language_models is not None
    }


def public_names() -> dict[str, Any]:
    """Returns the public names of the settings' modules: the dataclasses, and the types of their fields."""
    modules = [sys.modules[kind.__module__] for kind in settings_of_backends().values()]
    return {name: getattr(module, name) for module in modules for name in module.__all__}


@dataclass
class BackendConfig(_groups()):  # type: ignore[misc]
    """The backends that get the model: a group for each declared backend, and groups for those that only ExecuTorch
    has."""

    torchao: TorchAOKernelsConfig = field(default_factory=TorchAOKernelsConfig)
    tosa: TosaConfig = field(default_factory=TosaConfig)
    mlx: MLXConfig = field(default_factory=MLXConfig)


def __getattr__(name: str) -> Any:
    """The settings of a backend by the name of their class."""
    try:
        return public_names()[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
