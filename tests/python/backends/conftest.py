# SPDX-License-Identifier: BSD-3-Clause
"""Adds backends to the package and installs packages for a test."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from sdk.backends import registry
from sdk.export import recipe_registry


class Tree:
    """`tree.write("sdk/backends/demo/declaration.py", text)`: files that are imported as parts of `sdk`, and others."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        importlib.invalidate_caches()
        registry.forget()
        return file

    def entry_point(self, group: str, *lines: str) -> None:
        """Installs a distribution `vendor` with these entry points."""
        folder = "vendor-1.0.dist-info"
        self.write(f"{folder}/METADATA", "Metadata-Version: 2.1\nName: vendor\nVersion: 1.0\n")
        self.write(f"{folder}/entry_points.txt", "\n".join([f"[{group}]", *lines, ""]))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("sdk", "sdk.backends", "sdk.kernels"):
        package: ModuleType = importlib.import_module(name)
        folder = tmp_path.joinpath(*name.split("."))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    monkeypatch.setattr(recipe_registry, "_providers", {})
    yield Tree(tmp_path)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            if parent in sys.modules and hasattr(sys.modules[parent], child):
                delattr(sys.modules[parent], child)
    monkeypatch.undo()
    registry.forget()


DECLARATION = """
from sdk.backends.registry import Backend, QuantizationScheme, TargetRecipe

BACKEND = Backend(
    name="{name}",
    id="{id}",
    about="tests",
    partitioner="{partitioner}",
    {more}
)
"""

DEMO_PARTITIONER = "sdk.exir.backend.test.op_partitioner_demo:AddMulPartitionerDemo"


@pytest.fixture
def declare(tree: Tree) -> Callable[..., Path]:
    """`declare("demo", "DemoBackend", more="memory_padding=8,")`: writes a declaration, returns its file."""

    def write(
        name: str, id: str = "", more: str = "", partitioner: str = DEMO_PARTITIONER, folder: str | None = None
    ) -> Path:
        text = DECLARATION.format(name=name, id=id or f"{name.title()}Backend", partitioner=partitioner, more=more)
        return tree.write(f"sdk/backends/{folder or name}/declaration.py", text)

    return write
