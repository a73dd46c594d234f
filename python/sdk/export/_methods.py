# SPDX-License-Identifier: BSD-3-Clause
"""Arguments for one model or for several methods, as dicts by method name."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from sdk.export.saved_programs import load_programs

Models: TypeAlias = (
    torch.nn.Module
    | dict[str, torch.nn.Module]
    | dict[str, GraphModule]
    | ExportedProgram
    | dict[str, ExportedProgram]
    | str
    | dict[str, torch.nn.Module]
    | dict[str, GraphModule]
    | ExportedProgram
    | dict[str, ExportedProgram]
    | str
)
"""A model, or models by method name. A str is the path of a `.pt2` that torch.export.save() wrote."""

_KINDS = ((ExportedProgram, "ExportedProgram"), (GraphModule, "GraphModule"), (torch.nn.Module, "nn.Module"))


def by_method(given: Any, what: str, models: dict[str, Any]) -> dict[str, Any]:
    """`given` as a dict by method name. Shapes of a single model may be a dict by input name.

    Raises:
        ValueError: it is not a dict by method name although there are several methods, or names an unknown method.
    """
    if given is None:
        return {}
    mapped = isinstance(given, dict)
    if mapped and what == "dynamic_shapes" and len(models) == 1:
        mapped = set(given) <= set(models)
    if not mapped:
        if len(models) > 1:
            raise ValueError(f"The model has the methods {', '.join(models)}: give {what} as a dict by method name.")
        return {next(iter(models)): given}
    unknown = [method for method in given if method not in models]
    if unknown:
        raise ValueError(f"{what} names the method {unknown[0]!r}; the model has {', '.join(models)}.")
    return given


def as_models(model: Any) -> dict[str, Any]:
    """Models by method name. Raises ValueError for an empty dict, or what `load_programs` raises."""
    if isinstance(model, (str, os.PathLike)):
        return dict(load_programs(model))
    if not isinstance(model, dict):
        return {"forward": model}
    if not model:
        raise ValueError("model is an empty dict: expected at least one method")
    return model


def kind_of(models: dict[str, Any]) -> str:
    """`nn.Module`, `GraphModule` or `ExportedProgram`. Raises TypeError for anything else, and for a mixture."""
    kinds = {}
    for method, model in models.items():
        kind = next((name for kind, name in _KINDS if isinstance(model, kind)), None)
        if kind is None:
            raise TypeError(
                f"Unsupported model type: {type(model)}. Expected an nn.Module, a GraphModule, an ExportedProgram, a "
                f"dict of one of them by method name, or the path of a .pt2 file."
            )
        kinds[method] = kind
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{method} is a {kind}" for method, kind in kinds.items())
        raise TypeError(f"The methods of one model must be of one kind, but {listed}.")
    return next(iter(kinds.values()))


def of_method(by_name: dict[str, Any], method_name: str) -> Any:
    """The entry of a method. Raises KeyError for an unknown name."""
    if method_name not in by_name:
        raise KeyError(f"Method name '{method_name}' not found; there is {', '.join(by_name) or 'none'}")
    return by_name[method_name]
