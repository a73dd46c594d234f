# SPDX-License-Identifier: BSD-3-Clause
"""Loads `file.py:name` and `package.module:name` of the command line."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from sdk.export.cli.errors import CommandError, closest, failed, user_line, with_type
from sdk.util.words import no_file


def surroundings_of(place: str) -> ModuleType:
    """The module at `place`, the path of a .py file or the name of an importable module.

    Raises:
        CommandError: it does not exist, or importing it failed.
    """
    return _import_file(Path(place)) if place.endswith(".py") else _import_module(place)


def find(surroundings: ModuleType, name: str, place: str, is_candidate: Callable[[Any, Any], bool]) -> Any:
    """The value of `name` (dotted for a nested name) in a module.

    Raises CommandError if the name does not exist. The message proposes names for which `is_candidate(value, owner)` is
    true.
    """
    found: Any = surroundings
    for part in name.split("."):
        if not hasattr(found, part):
            candidates = [k for k, value in vars(found).items() if not k.startswith("_") and is_candidate(value, found)]
            offered = f" What could be exported there: {', '.join(candidates)}." if candidates else ""
            raise CommandError(f"`{place}` has no `{part}`.{closest(part, candidates)}{offered}")
        found = getattr(found, part)
    return found


def called(function: Callable[[], Any], text: str) -> Any:
    """Calls a class or function without arguments. Raises CommandError if it needs some, or fails."""
    kind = "class" if isinstance(function, type) else "function"
    needed = _needed_arguments(function)
    if needed:
        name = text.rpartition(":")[2]
        raise CommandError(
            f"The {kind} `{text}` needs arguments: {', '.join(needed)}. Name a function without arguments instead, "
            f"for example\n"
            f"  def build():\n      return {name}({', '.join(f'{a}=...' for a in needed)})"
        )
    try:
        return function()
    except Exception as error:
        raise failed(f"Calling the {kind} `{text}`", error) from error


def described(value: Any) -> str:
    """A value as a phrase for messages."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise CommandError(f"{no_file(path)} Paths are relative to the current folder, {Path.cwd()}.")
    # Put the file's folder first, as `python file.py` does, so that it can import its neighbours.
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, "a .py file always has a loader"
    module = importlib.util.module_from_spec(spec)
    # Register the module under its name, because dataclasses and pickling look it up there. Never replace another
    # module.
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _import_failure(str(path), error) from error
    return module


def _import_module(name: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise CommandError(
                f"There is no module `{error.name}`. Looked in the installed packages and in {Path.cwd()}. For a "
                f"file, write its "
                f"path with .py: {name.replace('.', '/')}.py:name."
            ) from error
        raise _import_failure(name, error) from error
    except Exception as error:
        raise _import_failure(name, error) from error


def _import_failure(what: str, error: Exception) -> CommandError:
    line = user_line(error)
    if isinstance(error, SyntaxError):
        line = f"{error.filename}:{error.lineno}: {(error.text or '').strip()}"
    advice = ""
    if isinstance(error, ModuleNotFoundError) and error.name:  # code that raises one itself may name no module
        advice = f"\nInstall `{error.name}` in this environment, {sys.prefix}, or correct the import."
    at = f"\n  {line}" if line else ""
    return CommandError(f"Importing `{what}` failed: {with_type(error, 3)}{at}{advice}")


def _needed_arguments(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
