# SPDX-License-Identifier: BSD-3-Clause
"""Shows graphs, and changes the observers of prepared ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx.passes.graph_drawer import FxGraphDrawer


class DrawFormat(Enum):
    """The formats of drawings. SVG needs Graphviz; PYDOT is Graphviz's text, for large graphs."""

    SVG = 1
    PYDOT = 2


def draw_graph(title: str, path: str | Path, graph_module: GraphModule, format: DrawFormat = DrawFormat.SVG) -> None:
    """Draws a graph to `path/title.svg` or `path/title.dot`. Raises RuntimeError for another format, and without the
    package pydot."""
    if format not in (DrawFormat.SVG, DrawFormat.PYDOT):
        raise RuntimeError(f"format is {format!r}; expected DrawFormat.SVG or DrawFormat.PYDOT")
    drawing = FxGraphDrawer(graph_module, title).get_dot_graph()
    if format is DrawFormat.SVG:
        Path(path, f"{title}.svg").write_bytes(drawing.create_svg())
    else:
        Path(path, f"{title}.dot").write_text(drawing.to_string())


def show_nn_module_stack_for_quant_recipe(gm: GraphModule, supported_ops: Collection[Any]) -> None:
    """Prints a line for each operator among `supported_ops` in each submodule, with the names of its calls."""
    found: dict[tuple[str, str], list[str]] = {}
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target in supported_ops:
            stack = list((node.meta.get("nn_module_stack") or {}).values())
            found.setdefault((str(node.target), stack[-1][0] if stack else ""), []).append(node.name)
    for (target, place), names in found.items():
        print(f"{target} | {place} | {', '.join(names)}")


def rewrite_prepared_observer(graph_module: GraphModule, name_obs_dict: Mapping[str, torch.nn.Module]) -> None:
    """Replaces observers of a prepared model by name, also where the same object has other names.

    Raises ValueError for a name that the model does not have.
    """
    names: dict[torch.nn.Module, list[str]] = {}
    for name, module in graph_module.named_modules(remove_duplicate=False):
        names.setdefault(module, []).append(name)
    for name, observer in name_obs_dict.items():
        replaced = getattr(graph_module, name, None)
        if replaced is None:
            raise ValueError(f"the model has no observer {name!r}")
        for each in names[replaced]:
            setattr(graph_module, each, observer)
