# SPDX-License-Identifier: BSD-3-Clause
"""The references that are made from comments: the members that they list exist and have a comment."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "sdk" / "cpp" / "executorch" / "runtime"

PYTHON = {
    "sdk.exir": ["to_edge", "to_edge_transform_and_lower"],
    "sdk.exir:EdgeProgramManager": [
        *("methods", "config_methods", "exported_program", "transform", "to_backend", "to_executorch"),
    ],
    "sdk.exir:ExecutorchProgramManager": [
        *("methods", "config_methods", "exported_program", "buffer", "debug_handle_map", "dump_executorch_program"),
    ],
    "sdk.exir.backend.backend_api": ["to_backend"],
    "sdk.exir.backend.backend_api:LoweredBackendModule": [
        *("backend_id", "processed_bytes", "compile_specs", "original_module", "buffer", "program"),
    ],
    "sdk.runtime:Runtime": ["get", "load_program"],
    "sdk.runtime:OperatorRegistry": ["operator_names"],
    "sdk.runtime:Program": ["method_names", "load_method"],
    "sdk.runtime:Method": ["execute", "metadata"],
    "sdk.devtools:Inspector": [
        *("__init__", "to_dataframe", "print_data_tabular", "find_total_for_module", "get_exported_program"),
        "calculate_numeric_gap",
    ],
    "sdk.devtools.inspector": ["EventBlock", "Event"],
}
"""The members that the pages of the Python reference take from docstrings, by module or `module:Class`."""

CPP = {
    "executor/program.h": ["Program"],
    "executor/method.h": ["Method"],
    "executor/method_meta.h": ["MethodMeta"],
    "core/data_loader.h": ["DataLoader"],
    "core/memory_allocator.h": ["MemoryAllocator"],
    "core/hierarchical_allocator.h": ["HierarchicalAllocator"],
    "executor/memory_manager.h": ["MemoryManager"],
    "core/evalue.h": ["EValue"],
    "core/portable_type/tensor.h": ["Tensor"],
}
"""The classes of the documented C++ reference."""


def resolve(name: str) -> Any:
    module, _, attribute = name.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def text_of(owner: Any, member: str) -> str:
    """Returns the docstring that was written for a member, but not the signature that a dataclass gets as its
    docstring."""
    is_property = inspect.isclass(owner) and isinstance(inspect.getattr_static(owner, member), property)
    found = inspect.getattr_static(owner, member) if is_property else getattr(owner, member)
    text = found.__doc__ or ""
    return "" if text.startswith(f"{member}(") else text


@pytest.mark.parametrize("owner", PYTHON)
def test_what_the_python_references_list_has_a_docstring(owner: str) -> None:
    """DOCS-07: every target of the documented references of Python."""
    if ":" in owner:
        assert resolve(owner).__doc__, owner
    assert [member for member in PYTHON[owner] if len(text_of(resolve(owner), member).split()) < 3] == []


def public_names(source: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in source.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node


def test_every_public_name_of_the_package_has_a_docstring() -> None:
    """DOCS-07: a reference of any module can be generated. Modules of backends have separate pages."""
    package = ROOT / "python" / "sdk"
    missing, seen = [], 0
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        if parts[0] in ("backends", "codegen") or any(part.startswith("_") for part in parts if part != "__init__"):
            continue
        source = ast.parse(path.read_text(encoding="utf-8"))
        if source.body and ast.get_docstring(source) is None:
            missing.append(f"{path.relative_to(ROOT)}: the module")
        for node in public_names(source):
            seen += 1
            if ast.get_docstring(node) is None:
                missing.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}")
    assert missing == []
    assert seen > 500


@pytest.mark.parametrize("header", CPP)
def test_the_classes_of_the_cpp_reference_have_comments(header: str) -> None:
    """DOCS-07: scripts/undocumented, a part of the lint, does the same for the members."""
    text = (HEADERS / header).read_text(encoding="utf-8")
    for name in CPP[header]:
        above = re.search(
            rf"(/\*\*(?:(?!\*/).)*\*/|(?:///[^\n]*\n)+)\s*(?:class|struct) (?:\w+ )?{name}\b", text, re.DOTALL
        )
        assert above is not None, f"{header}: {name}"
        assert len(above[1].split()) > 5, f"{header}: {name}"
