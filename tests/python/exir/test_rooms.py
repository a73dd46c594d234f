# SPDX-License-Identifier: BSD-3-Clause
"""The imports of the compiler: no circle, no other package of this SDK, and in the order that `sdk.exir` documents."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "python"

_REGISTERS_QUANTISED = "registering the operators of quantised models loads torch.ao.quantization, which takes 0.2 s"
_LOADS_DYNAMO = "torch._export.serde loads TorchDynamo, which takes a second, and only saving a record needs it"
_LOADS_TORCH = "commands that read files use the data model, and work without PyTorch"
_REGISTERS = "operators of a namespace are registered when the namespace is first used"

LAZY = {
    ("sdk.exir.record", "sdk.exir.serde.serialize"): _LOADS_DYNAMO,
    ("sdk.exir.tensor_layout", "sdk.exir.tensor"): _LOADS_TORCH,
    ("sdk.exir._to_executorch", "sdk.exir.passes.quant_fusion_pass"): _REGISTERS_QUANTISED,
    ("sdk.exir.operator.convert", "sdk.exir.operator.quantized_kernel_ops"): _REGISTERS_QUANTISED,
    ("sdk.exir.quantization.embeddings", "sdk.exir.operator.quantized_ops"): _REGISTERS_QUANTISED,
    ("sdk.exir.dialects._ops", "sdk.exir.operator.dim_order_ops"): _REGISTERS,
    ("sdk.exir.dialects._ops", "sdk.exir.operator.prim_ops"): _REGISTERS,
    ("sdk.exir.dialects._ops", "sdk.exir.operator.quantized_ops"): _REGISTERS_QUANTISED,
}
"""The imports within functions that are allowed, and why: each saves time when a program starts."""

EXTRAS = "sdk.extras"
"""A module that says which extra a missing Python package belongs to. It imports nothing of this SDK."""

BY_NAME = {
    "sdk.exir": "loads each public name when it is first used",
    "sdk.exir.capture": "loads each public name when it is first used",
    "sdk.exir.passes": "loads each pass when it is first used",
    "sdk.exir.hooks": "loads what other packages provide for the compiler",
}
"""The modules that may import others by computed names, and what they load."""


@dataclass(frozen=True)
class Import:
    source: str
    target: str
    line: int
    in_function: bool


def module_name(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def all_modules(root: Path) -> dict[str, Path]:
    return {module_name(file, root): file for file in sorted(root.rglob("*.py"))}


def imports_of(name: str, modules: dict[str, Path]) -> Iterator[Import]:
    """Every import of the file, also within functions and under `if TYPE_CHECKING`."""

    def walk(node: ast.AST, in_function: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inside = in_function or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(name, alias.name, child.lineno, in_function)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{name}:{child.lineno}: imports are absolute here"
                for alias in child.names:
                    whole = f"{child.module}.{alias.name}"
                    yield Import(name, whole if whole in modules else str(child.module), child.lineno, in_function)
            yield from walk(child, inside)

    yield from walk(ast.parse(modules[name].read_text(encoding="utf-8")), False)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = [stack.pop()]
            while component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def graph_of(modules: dict[str, Path]) -> dict[str, set[str]]:
    return {name: {i.target for i in imports_of(name, modules) if i.target in modules} - {name} for name in modules}


def rooms() -> dict[str, tuple[int, str]]:
    """Module or folder below `sdk.exir` -> the position and the name of its room, from the documentation of the
    package."""
    documentation = ast.get_docstring(ast.parse((SOURCES / "sdk/exir/__init__.py").read_text(encoding="utf-8")))
    lines = re.findall(r"^    (\S+) +(\S.*)$", documentation or "", flags=re.M)
    assert len(lines) > 10, "the list of rooms is not where this test looks for it"
    found = {}
    for position, (room, text) in enumerate(lines):
        _, _, files = text.partition("; with ")
        for name in (room, *filter(None, files.split(", "))):
            found[name] = (position, room)
    return found


def room_of(module: str, table: dict[str, tuple[int, str]]) -> tuple[int, str]:
    path = module.removeprefix("sdk.exir.").split(".")
    for length in range(len(path), 0, -1):
        if ".".join(path[:length]) in table:
            return table[".".join(path[:length])]
    assert len(path) == 1 or path[0] == "receipt", f"no room has {module}: name it in the documentation of sdk.exir"
    return table["base"]


MODULES = all_modules(SOURCES)
EXIR = sorted(name for name in MODULES if name.startswith("sdk.exir"))


def test_no_file_imports_itself_through_others() -> None:
    checked = ("sdk.exir", "sdk.devtools", "sdk.util")
    assert [c for c in circles(graph_of(MODULES)) if any(name.startswith(checked) for name in c)] == []


def test_reports_do_not_import_the_command_that_shows_them() -> None:
    found = {
        f"{i.source}:{i.line}"
        for name in MODULES
        if name.startswith("sdk.devtools")
        for i in imports_of(name, MODULES)
        if i.target.startswith(("sdk.export", "sdk.backends"))
    }
    assert found == set()


def test_the_compiler_imports_no_other_package() -> None:
    outside = [
        f"{i.source}:{i.line} imports {i.target}"
        for name in EXIR
        for i in imports_of(name, MODULES)
        if i.target.startswith("sdk.") and not i.target.startswith("sdk.exir") and i.target != EXTRAS
    ]
    assert outside == [] and not any(i.target.startswith("sdk.") for i in imports_of(EXTRAS, MODULES))


def test_imports_within_functions_have_a_reason() -> None:
    found = {
        (i.source, i.target)
        for name in EXIR
        for i in imports_of(name, MODULES)
        if i.in_function and i.target.startswith("sdk")
    }
    assert found == set(LAZY)


def test_imports_by_computed_names_have_a_reason() -> None:
    found = {name for name in EXIR if re.search(r"import_module\(|lazily\(", MODULES[name].read_text(encoding="utf-8"))}
    assert found == set(BY_NAME)


def test_imports_follow_the_documented_order() -> None:
    table = rooms()
    wrong = []
    for name in EXIR:
        if name == "sdk.exir":
            continue
        position, room = room_of(name, table)
        for i in imports_of(name, MODULES):
            if i.target.startswith("sdk.exir.") and room_of(i.target, table)[0] > position:
                wrong.append(f"{name}:{i.line} ({room}) imports {i.target} ({room_of(i.target, table)[1]})")
    assert wrong == []


def test_every_documented_room_is_there() -> None:
    names = {name.removeprefix("sdk.exir.") for name in EXIR}
    assert [name for name in rooms() if name not in names | {"base"}] == []


@pytest.mark.parametrize("hidden", ["def f():\n    import a", "if TYPE_CHECKING:\n    from a import x"])
def test_a_hidden_circle_is_found(tmp_path: Path, hidden: str) -> None:
    (tmp_path / "a.py").write_text("from b import y\n")
    (tmp_path / "b.py").write_text(f"{hidden}\n")
    assert circles(graph_of(all_modules(tmp_path))) == [["a", "b"]]


_ALONE = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path.insert(0, sys.argv[1])
import torch
from sdk.exir import to_edge
edge = to_edge(torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)), generate_etrecord=True)
manager = edge.to_executorch()
assert manager.buffer[4:8] == b"ET12", manager.buffer[:8]
manager.get_etrecord().save(sys.argv[1] + "/record")
manager.save(sys.argv[1] + "/model.pte")
try:
    manager.get_receipt()
except RuntimeError as error:
    print(error)
loaded = {name.split(".")[1] for name in sys.modules if name.startswith("sdk.")}
assert loaded == {"exir", "extras"}, loaded
"""


def test_the_compiler_works_without_the_other_packages(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES / "sdk/exir", tmp_path / "sdk/exir", ignore=ignored)
    for file in ("__init__.py", "extras.py"):
        shutil.copy(SOURCES / "sdk" / file, tmp_path / "sdk")
    run = subprocess.run([sys.executable, "-c", _ALONE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "sdk.devtools, which is not installed" in run.stdout
