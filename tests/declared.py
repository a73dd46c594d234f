# SPDX-License-Identifier: BSD-3-Clause
"""The default backend, for tests that need a backend and not a particular one."""

from __future__ import annotations

from typing import Any

from sdk.backends.registry import Backend, default_backend


def default() -> Backend:
    """The backend that declares itself the default on CPUs."""
    declared = default_backend()
    assert declared is not None
    return declared


def quantizer(scheme: str = "int8") -> Any:
    """The quantizer of PT2E that `--quantize SCHEME` uses for the default backend."""
    provider = default().make("recipes")
    kinds = {kind.value: kind for kind in provider.get_supported_recipes()}
    recipe = provider.create_recipe(kinds[default().quantization[scheme].recipe]).quantization_recipe
    (found,) = recipe.quantizers
    return found
