# SPDX-License-Identifier: BSD-3-Clause
"""MODEL on the command line -> a module to export."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.export import ExportedProgram

from sdk.export.cli.errors import CommandError, closest, first_lines, user_line


@dataclass
class Model:
    """What MODEL named: a module to capture, or a program that was captured before."""

    name: str  # what the .pte is called by default
    module: torch.nn.Module  # in eval mode; what eager results come from
    program: ExportedProgram | None = None  # set for a .pt2
    example_inputs: Callable[[], Any] | None = None


def load_model(text: str) -> Model:
    """Finds `file.py:name`, `package.module:name` or `program.pt2`.

    Raises:
        CommandError: the file, the module or the name is not there, importing or calling it failed, or what it
            gives is no nn.Module.
    """
    if text.endswith(".pt2"):
        return _saved_program(Path(text))
    place, colon, name = text.rpartition(":")
    if not colon or not name:
        raise CommandError(
            f"`{text}` does not say which model to export. Write file.py:name or package.module:name (the name of an "
            f"nn.Module, of a class or of a function that returns one), or the path of a .pt2 file."
        )
    surroundings = _import_file(Path(place)) if place.endswith(".py") else _import_module(place)
    module = _instance(_find(surroundings, name, place), text)
    module.eval()
    return Model(
        name=_file_name(name),
        module=module,
        example_inputs=_callable(module, "example_inputs") or _callable(surroundings, "example_inputs"),
    )


def _saved_program(path: Path) -> Model:
    if not path.is_file():
        raise CommandError(f"There is no file `{path}`.")
    try:
        program = torch.export.load(path)
    except Exception as error:
        raise CommandError(
            f"`{path}` could not be read as a program saved by torch.export.save(): {first_lines(error, 2)}"
        ) from error
    saved = program.example_inputs
    return Model(
        name=_file_name(path.stem),
        module=program.module(),
        program=program,
        example_inputs=None if saved is None else lambda: saved,
    )


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        hint = " It is a folder." if path.is_dir() else ""
        raise CommandError(f"There is no file `{path}`.{hint} Paths are relative to the current folder, {Path.cwd()}.")
    # The file's own folder comes first, as it would for `python file.py`, so that its neighbours can be imported.
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, "a .py file always has a loader"
    module = importlib.util.module_from_spec(spec)
    # Under its own name in sys.modules: dataclasses and pickling look their module up there. Never over another module.
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
    if isinstance(error, ModuleNotFoundError):
        advice = f"\nInstall `{error.name}` in this environment, {sys.prefix}, or correct the import."
    at = f"\n  {line}" if line else ""
    return CommandError(f"Importing `{what}` failed: {type(error).__name__}: {first_lines(error, 3)}{at}{advice}")


def _find(surroundings: ModuleType, name: str, place: str) -> Any:
    found: Any = surroundings
    for part in name.split("."):
        if not hasattr(found, part):
            candidates = [
                key for key, value in vars(found).items() if not key.startswith("_") and _may_be_model(value, found)
            ]
            offered = f" What could be exported there: {', '.join(candidates)}." if candidates else ""
            raise CommandError(f"`{place}` has no `{part}`.{closest(part, candidates)}{offered}")
        found = getattr(found, part)
    return found


def _may_be_model(value: Any, surroundings: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return True
    if isinstance(value, type):
        return issubclass(value, torch.nn.Module) and value.__module__ == getattr(surroundings, "__name__", None)
    return inspect.isfunction(value) and value.__module__ == getattr(surroundings, "__name__", None)


def _instance(found: Any, text: str) -> torch.nn.Module:
    if isinstance(found, torch.nn.Module):
        return found
    if not callable(found):
        raise CommandError(
            f"`{text}` is {_described(found)}, not a model. Expected an nn.Module, a class of one, or a function "
            f"that returns one."
        )
    kind = "class" if isinstance(found, type) else "function"
    if isinstance(found, type) and not issubclass(found, torch.nn.Module):
        raise CommandError(f"`{text}` is a class, but not one of nn.Module.")
    needed = _needed_arguments(found)
    if needed:
        name = text.rpartition(":")[2]
        raise CommandError(
            f"The {kind} `{text}` needs arguments: {', '.join(needed)}. Name a function without arguments instead, "
            f"for example\n"
            f"  def build():\n      return {name}({', '.join(f'{a}=...' for a in needed)})"
        )
    try:
        made = found()
    except Exception as error:
        line = user_line(error)
        at = f"\n  {line}" if line else ""
        raise CommandError(
            f"Calling the {kind} `{text}` failed: {type(error).__name__}: {first_lines(error, 3)}{at}"
        ) from error
    if not isinstance(made, torch.nn.Module):
        raise CommandError(f"The {kind} `{text}` returned {_described(made)}; expected an nn.Module.")
    return made


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


def _described(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _callable(owner: object, name: str) -> Callable[[], Any] | None:
    found = getattr(owner, name, None)
    return found if callable(found) else None


def _file_name(name: str) -> str:
    """`TinyDecoder` -> `tiny_decoder`: the way Python files are named."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.rpartition(".")[2])
    return re.sub(r"_+", "_", spaced).strip("_").lower() or "model"
