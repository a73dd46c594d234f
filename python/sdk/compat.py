# SPDX-License-Identifier: BSD-3-Clause
"""Runs code that imports ExecuTorch, unchanged, on this SDK.

    import sdk.compat  # before the code that says `import executorch`

or, for a command of an installed package, a file or a module, with its arguments:

    python -m sdk.compat optimum-cli export executorch --model ...
    python -m sdk.compat export.py ...
    python -m sdk.compat -m package.module ...

Then `executorch.NAME` is the module `sdk.NAME`, the same object under both names, and the distribution `executorch` has
the version of ExecuTorch whose interface this SDK implements. Nothing else is imported. Raises ImportError if
ExecuTorch itself is installed: one process cannot have both.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder, entry_points
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["IMPLEMENTED", "install", "main"]

IMPLEMENTED = "1.4.1"
"""The version of ExecuTorch whose interface this SDK implements."""

_THEIRS, _OURS = "executorch", "sdk"


class _Distribution(Distribution):
    """The metadata of a distribution `executorch`."""

    def read_text(self, filename: str) -> str | None:
        files = {
            "METADATA": f"Metadata-Version: 2.1\nName: {_THEIRS}\nVersion: {IMPLEMENTED}\n",
            "top_level.txt": f"{_THEIRS}\n",
        }
        return files.get(filename)

    def locate_file(self, path: Any) -> Path:
        return Path(__file__).resolve().parent.parent / path


class _Finder(MetaPathFinder, Loader):
    """Finds the module `sdk.NAME` for an import of `executorch.NAME`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _THEIRS and not fullname.startswith(f"{_THEIRS}."):
            return None
        name = _OURS + fullname.removeprefix(_THEIRS)
        found = find_spec(name)
        if found is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}: this SDK has no {name!r}", name=fullname)
        return spec_from_loader(
            fullname, self, origin=found.origin, is_package=found.submodule_search_locations is not None
        )

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_OURS + spec.name.removeprefix(_THEIRS))
        spec.loader_state = module.__spec__  # the import system replaces it by `spec`
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state

    def find_distributions(self, context: Any = DistributionFinder.Context()) -> Iterable[Distribution]:  # noqa: B008
        if context.name is None or context.name.lower() == _THEIRS:
            yield _Distribution()


_FINDER = _Finder()


def install() -> None:
    """Makes `import executorch` import this SDK, if it does not yet. `import sdk.compat` calls it."""
    if _FINDER in sys.meta_path:
        return
    for found in _installations():
        raise ImportError(
            f"ExecuTorch is installed ({found}), so `import executorch` cannot mean this SDK. Uninstall it, or use an "
            "environment without it"
        )
    sys.meta_path.insert(0, _FINDER)


def _installations() -> Iterator[str]:
    """Where ExecuTorch is: its version, a module that is loaded already, or its folder."""
    for distribution in Distribution.discover(name=_THEIRS):
        yield f"version {distribution.version}"
    loaded = sys.modules.get(_THEIRS)
    if loaded is not None and loaded is not sys.modules[_OURS]:
        yield f"it is imported as {loaded!r}"
    found = PathFinder.find_spec(_THEIRS)
    # Its package has no __init__.py, and any folder of that name looks like it.
    for folder in [] if found is None else found.submodule_search_locations or []:
        if (Path(folder) / "exir").is_dir():
            yield f"in {folder}"


def main(argv: Sequence[str]) -> Any:
    """Runs a command of an installed package, a Python file, or `-m` and a module, as `__main__` with its arguments.

    Returns the exit status, 2 after one line on stderr for a command that is not installed.
    """
    if argv[:1] == ["-m"] and len(argv) > 1:
        sys.argv = [argv[1], *argv[2:]]
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        return 0
    if not argv or argv[0].startswith("-"):
        print("usage: python -m sdk.compat COMMAND|FILE.py|-m MODULE [ARGUMENT...]", file=sys.stderr)
        return 2
    name, sys.argv = argv[0], list(argv)
    if name.endswith(".py"):
        sys.path.insert(0, str(Path(name).resolve().parent))
        runpy.run_path(name, run_name="__main__")
        return 0
    for command in entry_points(group="console_scripts", name=name):
        return command.load()()
    print(f"error: no installed package has a command {name!r}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    from sdk import compat  # imported by its name, because `__main__` is another module object

    sys.exit(compat.main(sys.argv[1:]))

install()
