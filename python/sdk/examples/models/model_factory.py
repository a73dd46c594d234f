# SPDX-License-Identifier: BSD-3-Clause
"""Models of the examples by their names."""

from __future__ import annotations

import importlib
from typing import Any

import torch


class EagerModelFactory:
    """Makes the models of `sdk.examples.models`."""

    @staticmethod
    def create_model(
        module_name: str, model_class_name: str, **kwargs: Any
    ) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any] | None, Any]:
        """A module, its example arguments by position and by name, and its dynamic shapes; the latter two may be None.

        `module_name`, `model_class_name`: as in `MODEL_NAME_TO_MODEL`. `kwargs`: arguments of the class. Raises
        ImportError if the module does not exist, ValueError if it lacks the class.
        """
        module = importlib.import_module(f"sdk.examples.models.{module_name}")
        kind = getattr(module, model_class_name, None)
        if kind is None:
            raise ValueError(f"{module.__name__} has no model {model_class_name!r}")
        model = kind(**kwargs)
        named, shapes = (
            getattr(model, name)() if hasattr(model, name) else None
            for name in ("get_example_kwarg_inputs", "get_dynamic_shapes")
        )
        return model.get_eager_model(), model.get_example_inputs(), named, shapes
