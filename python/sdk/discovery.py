# SPDX-License-Identifier: BSD-3-Clause
"""Finds plug-ins of this package: backends, kernel libraries, subcommands.

A plug-in of this repository is a file with a fixed name in a separate folder (`sdk/backends/<name>/declaration.py`). A
plug-in of another package is an entry point of a fixed group. Searching does not import them.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PlugIn:
    """A plug-in that was found but not imported.

    Attributes:
        name: The name of its folder or entry point.
        module: The module to import.
        place: The location for messages: the file, or the entry point and the distribution that has it.
        attribute: The attribute of the module that an entry point names; None if it names none.
        file: The module's file; None for an entry point.
    """

    name: str
    module: str
    place: str
    attribute: str | None = None
    file: Path | None = None

    def load(self) -> Any:
        """Imports the module. Returns it, or the attribute that the entry point names."""
        value: Any = importlib.import_module(self.module)
        for part in self.attribute.split(".") if self.attribute else ():
            value = getattr(value, part)
        return value

    def summary(self) -> str:
        """The first line of the module's docstring, read without importing the module; "" without a docstring."""
        try:
            file = self.file
            if file is None:
                spec = importlib.util.find_spec(self.module)  # imports the packages around the module
                if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
                    return ""
                file = Path(spec.origin)
            docstring = ast.get_docstring(ast.parse(file.read_bytes()))
        except Exception:  # a broken package must not prevent the others from being listed
            return ""
        return (docstring or "").partition("\n")[0].strip()


def plug_ins(package: str, file: str, depth: int, group: str) -> list[PlugIn]:
    """Folders below `package` that contain `file`, at most `depth` levels down, then the entry points of `group`.

    Args:
        package: Its name, for example `sdk.backends`.
        file: The name of the file, for example `declaration.py`.
        depth: 1 for `<package>/<name>/<file>`, 2 for `<package>/<family>/<name>/<file>` too.
        group: The group of entry points, each `name = module` or `name = module:attribute`.

    The folders are sorted by name, and so are the entry points.
    """
    return [*sorted(_in_folders(package, file, depth), key=lambda found: found.name), *_entry_points(group)]


def _in_folders(package: str, file: str, depth: int) -> Iterator[PlugIn]:
    seen: set[tuple[str, ...]] = set()
    for root in map(Path, importlib.import_module(package).__path__):
        for level in range(1, depth + 1):
            for path in root.glob("/".join(["*"] * level + [file])):
                parts = path.relative_to(root).with_suffix("").parts
                # The package may be in several folders, as in an editable installation.
                if all(part.isidentifier() for part in parts) and parts not in seen:
                    seen.add(parts)
                    yield PlugIn(parts[-2], ".".join((package, *parts)), str(path), file=path)


def _entry_points(group: str) -> list[PlugIn]:
    found = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        owner = f" of {point.dist.name}" if point.dist is not None else ""
        # The same distribution may be on the path twice.
        found[point.name, point.value] = PlugIn(
            point.name, point.module, f"the entry point `{point.name} = {point.value}`{owner}", point.attr or None
        )
    return list(found.values())
