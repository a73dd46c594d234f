# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of all backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdk.backends.registry import backends
from sdk.export.recipe import ExportRecipe, RecipeType
from sdk.export.recipe_provider import BackendRecipeProvider


class RecipeRegistry:
    """Providers by the name of their backend. A process has one registry: each construction returns the same object."""

    _instance: RecipeRegistry | None = None
    _initialized = False
    _providers: dict[str, BackendRecipeProvider]

    def __new__(cls) -> RecipeRegistry:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __init__(self) -> None:
        if not RecipeRegistry._initialized:
            self._providers = {}
            RecipeRegistry._initialized = True

    def register_backend_recipe_provider(self, provider: BackendRecipeProvider) -> None:
        """Adds a backend's recipes. A second provider of the same name replaces the first."""
        self._providers[provider.backend_name] = provider

    def create_recipe(self, recipe_type: RecipeType, backend: str, **kwargs: Any) -> ExportRecipe | None:
        """A new recipe of `backend`; None if the backend does not support the type. Raises ValueError for an unknown
        backend."""
        return self._provider(backend).create_recipe(recipe_type, **kwargs)

    def get_supported_recipes(self, backend: str) -> Sequence[RecipeType]:
        """The recipe types of `backend`. Raises ValueError for an unknown backend."""
        return self._provider(backend).get_supported_recipes()

    def list_backends(self) -> Sequence[str]:
        """The names of the registered backends, in the order of registration. A backend that declares recipes
        (`sdk.backends.registry`) is registered when one of its recipes is first requested."""
        return list(self._providers)

    def _provider(self, backend: str) -> BackendRecipeProvider:
        declared = backends()
        if backend not in self._providers and backend in declared and declared[backend].recipes is not None:
            self.register_backend_recipe_provider(declared[backend].make("recipes"))
        if backend not in self._providers:
            known = dict.fromkeys([*self._providers, *(b.name for b in declared.values() if b.recipes is not None)])
            raise ValueError(
                f"Backend '{backend}' not available. Available: {list(known)}. Register its provider with "
                f"recipe_registry.register_backend_recipe_provider()."
            )
        return self._providers[backend]


recipe_registry = RecipeRegistry()
