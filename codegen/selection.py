# SPDX-License-Identifier: BSD-3-Clause
"""The operators of a build, and their dtypes: the op info of selective builds.

A selection comes from programs (with dtypes), from a list of names, or from a functions.yaml (for all dtypes). It is
stored in a selected_operators.yaml, whose format is that of the original's tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .flatbuffer import ProgramError
from .functions_yaml import load_document, operator_name, read_yaml
from .kernel_keys import DEFAULT_KEY, dtypes_of_key
from .program_operators import program_uses
from .regular_file import read_file
from .schema import SchemaError, check_operator_name

# Operators of the runtime itself: no kernel library has them.
PRIM_NAMESPACE = "executorch_prim::"
PRIM_OPERATORS = ("aten::_local_scalar_dense", "aten::sym_numel", "aten::sym_size.int")


class SelectionError(ValueError):
    """The given files or names are not a valid selection."""


@dataclass
class Selection:
    """The selected operators; all of them if ``include_all``."""

    include_all: bool = False
    keys: dict[str, set[str]] = field(default_factory=dict)  # by operator; DEFAULT_KEY for all tensors
    sources: dict[str, list[str]] = field(default_factory=dict)  # by operator: the files that select it
    # By operator, the dtypes of all its tensors. Keys have fewer if a list has tensors of several dtypes.
    list_dtypes: dict[str, set[int]] = field(default_factory=dict)

    def add(self, operator: str, keys: Iterable[str], source: str, dtypes: Iterable[int] = ()) -> None:
        """Selects an operator for the tensors that the keys describe; for all tensors if there is no key.

        Raises SchemaError for a text that is not the name of an operator: names come from files and reach C++.
        """
        check_operator_name(operator)
        self.keys.setdefault(operator, set()).update(keys or ())
        self.list_dtypes.setdefault(operator, set()).update(dtypes)
        if source and source not in self.sources.setdefault(operator, []):
            self.sources[operator].append(source)

    def merge(self, other: Selection) -> None:
        """Adds the selection of `other`."""
        self.include_all |= other.include_all
        for operator, keys in other.keys.items():
            self.add(operator, keys, "", other.list_dtypes.get(operator, ()))
            for source in other.sources.get(operator, ()):
                self.add(operator, (), source)

    @property
    def operators(self) -> list[str] | None:
        """The names, sorted; None for all."""
        return None if self.include_all else sorted(self.keys)

    @property
    def needs_prim_operators(self) -> bool:
        """Whether a program may use operators of the runtime itself."""
        return self.include_all or any(is_prim_operator(name) for name in self.keys)

    def dtypes(self, operator: str) -> set[int] | None:
        """The dtypes of an operator's tensors; None for all."""
        keys = self.keys.get(operator, set())
        if self.include_all or not keys or DEFAULT_KEY in keys:
            return None
        return set().union(self.list_dtypes.get(operator, ()), *(dtypes_of_key(key) for key in keys))

    def operators_without_dtypes(self) -> list[str]:
        """The operators for which the selection has no dtypes."""
        return [name for name in self.keys if self.dtypes(name) is None and not is_prim_operator(name)]


def is_prim_operator(name: str) -> bool:
    """Whether the operator is part of the runtime."""
    return name.startswith(PRIM_NAMESPACE) or name in PRIM_OPERATORS


def from_programs(paths: Sequence[Path]) -> Selection:
    """The selection of programs. A folder means all .pte files in and below it. Raises ProgramError, OSError."""
    selection = Selection()
    for path in program_files(paths):
        try:
            uses = program_uses(read_file(path))
        except ProgramError as error:
            raise ProgramError(f"{path}: {error}") from error
        for operator, use in uses.items():
            # A call without tensors selects all tensors.
            selection.add(operator, use.keys or {DEFAULT_KEY}, str(path), use.dtypes)
    return selection


def program_files(paths: Sequence[Path]) -> list[Path]:
    """The given files, and the .pte files in and below the given folders."""
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(path.rglob("*.pte"))
        if not found:
            raise ProgramError(f"{path}: no file in this folder ends in .pte; export the models into it first")
        files += found
    return files


def from_list(names: str | Iterable[str]) -> Selection:
    """Operators by name, ``aten::add.out,aten::mm.out``, for all dtypes."""
    parts = names.replace(";", ",").split(",") if isinstance(names, str) else list(names)
    selection = Selection()
    for name in filter(None, map(str.strip, parts)):
        selection.add(name if "::" in name else f"aten::{name}", {DEFAULT_KEY}, "")
    return selection


def from_yaml(path: Path) -> Selection:
    """The operators of a functions.yaml, for all dtypes, or the selection in a selected_operators.yaml."""
    document = read_yaml(path)
    if isinstance(document, dict) and "operators" in document:
        return _read_selected(document, path)
    selection = Selection()
    for number, item in enumerate(load_document(path), start=1):
        try:
            selection.add(operator_name(item), {DEFAULT_KEY}, str(path))
        except SchemaError as error:
            raise SchemaError(f"{path}: entry {number}: {error}") from error
    return selection


def as_yaml(selection: Selection) -> str:
    """The text of a selected_operators.yaml."""
    operators = {
        name: {
            "debug_info": selection.sources.get(name) or ["None"],
            "include_all_overloads": False,
            "is_root_operator": True,
            "is_used_for_training": True,
        }
        for name in selection.operators or ()
    }
    keys = {name: sorted(selection.keys[name]) or [DEFAULT_KEY] for name in operators}
    for name, dtypes in ((name, selection.dtypes(name)) for name in keys):
        # The other dtypes of a list of tensors.
        missing = (dtypes or set()) - set().union(*(dtypes_of_key(key) for key in keys[name] if key != DEFAULT_KEY))
        keys[name] += [f"v1/{dtype};" for dtype in sorted(missing)]
    document = {
        "build_features": [],
        "custom_classes": [],
        "et_kernel_metadata": keys,
        "include_all_non_op_selectives": False,
        "include_all_operators": selection.include_all,
        "kernel_metadata": {},
        "operators": operators,
    }
    return yaml.safe_dump(document, width=120)


def _read_selected(document: dict[str, Any], path: Path) -> Selection:
    selection = Selection(include_all=bool(document.get("include_all_operators")))
    metadata = document.get("et_kernel_metadata") or {}
    try:
        for name, info in (document["operators"] or {}).items():
            sources = (info or {}).get("debug_info") or ["None"]
            keys = metadata.get(name) or [DEFAULT_KEY]
            for key in keys:
                if key != DEFAULT_KEY:
                    dtypes_of_key(key)
            for source in sources:
                selection.add(name, keys, "" if source == "None" else source)
    except (AttributeError, TypeError, ValueError) as error:
        raise SchemaError(f"{path}: not a selected_operators.yaml: {error}; make it again with gen_oplist") from error
    return selection
