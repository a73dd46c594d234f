# SPDX-License-Identifier: BSD-3-Clause
"""Loads the modules that MODEL on the command line names, by method."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MethodType
from typing import Any

import torch
from torch.export import ExportedProgram

from sdk.export.cli.errors import CommandError, closest
from sdk.export.cli.library_models import LIBRARIES
from sdk.export.cli.places import called, described, find, surroundings_of
from sdk.export.saved_programs import load_programs


@dataclass
class Model:
    """The modules to capture, or captured programs, that the argument MODEL names."""

    name: str  # the default name of the .pte
    modules: dict[str, torch.nn.Module]  # by method; in eval mode, unless from a .pt2; their outputs are the reference
    programs: dict[str, ExportedProgram] = field(default_factory=dict)  # by method; only for a .pt2
    example_inputs: Callable[[], Any] | None = None  # inputs of one call, or a dict of them by method

    @property
    def methods(self) -> list[str]:
        return list(self.modules)


def load_model(text: str, methods: Sequence[str] = ()) -> Model:
    """Loads what `text` names. `methods` are the methods of a module to export instead of forward().

    Raises:
        CommandError: the file, the module or the name does not exist, importing or calling it failed, or the result is
            not a model.
    """
    model = _named(text)
    if methods:
        model.modules = _methods(model, methods, text)
    for module in model.modules.values():
        # A program from a .pt2 has the mode in which it was captured.
        if not model.programs:
            module.eval()
    return model


def _named(text: str) -> Model:
    if text.endswith(".pt2"):
        return _saved_programs(Path(text))
    place, colon, name = text.rpartition(":")
    library = text.partition(":")[0]
    if colon and library in LIBRARIES:
        wanted = text.partition(":")[2]
        module, inputs = LIBRARIES[library](wanted)
        short = re.split(r"[/\\]", wanted.partition("@")[0].rstrip("/"))[-1]
        return Model(_file_name(short), {"forward": module}, {}, inputs)
    if text.endswith(".pte"):
        raise CommandError(f"`{text}` is a program already. `sdk run` runs it, and `sdk inspect` shows what is in it.")
    if not colon or not name:
        raise CommandError(_without_name(text))
    if problem := _no_place(place, name):
        raise CommandError(f"`{text}` does not say which model to export: {problem}. {_EXPECTED}")
    surroundings = surroundings_of(place)
    modules = _modules(find(surroundings, name, place, _may_be_model), text)
    own = _callable(modules["forward"], "example_inputs") if list(modules) == ["forward"] else None
    return Model(_file_name(name), modules, example_inputs=own or _callable(surroundings, "example_inputs"))


def _without_name(text: str) -> str:
    """Returns a message for a model that is given only by a path or a module."""
    path = Path(text.rstrip(":"))
    if not text.strip(":"):
        return f"`{text}` does not say which model to export. {_EXPECTED}"
    if path.suffix in (".pt", ".pth", ".bin", ".safetensors", ".ckpt"):
        return (
            f"`{text}` has weights, from which a model cannot be exported. Write a function that builds the model and "
            f"loads them, and name it as file.py:function; torch.export.save() writes whole programs, as .pt2."
        )
    if path.suffix == ".py" and not path.exists():
        return f"There is no file `{path}`. Write the path of one, and the name of what is in it, as file.py:name."
    if path.is_dir():
        return (
            f"`{text}` is a folder. Write file.py:name for a model in a file of it; `sdk llm export` takes folders of "
            f"language models."
        )
    return f"`{text}` does not say which model to export. {_EXPECTED}"


def _no_place(place: str, name: str) -> str | None:
    """Explains why `place`, the part before the colon, is neither a .py file nor the name of a module, or why `name` is
    not a Python name."""
    if not place:
        return "nothing is before the colon"
    if not all(map(str.isidentifier, name.split("."))):
        return f"`{name}` is not a name in Python"
    if place.endswith(".py"):
        return None
    if Path(place).is_file():
        return f"`{place}` is a file, but not one of Python (.py)"
    if Path(place).is_dir() and not Path(place, "__init__.py").exists():
        return f"`{place}` is a folder"
    if not all(map(str.isidentifier, place.split("."))):
        return f"`{place}` is not the name of a module"
    return None


_EXPECTED = (
    "Write file.py:name or package.module:name (the name of an nn.Module, of a class or of a function that returns "
    "one), or the path of a .pt2 file."
)


def _saved_programs(path: Path) -> Model:
    try:
        programs = load_programs(path)
    except (FileNotFoundError, ValueError) as error:
        raise CommandError(str(error)) from error
    saved = {method: program.example_inputs for method, program in programs.items()}
    given = list(saved.values())
    return Model(
        name=_file_name(path.stem),
        modules={method: program.module() for method, program in programs.items()},
        programs=programs,
        example_inputs=None if None in given else lambda: given[0] if len(given) == 1 else saved,
    )


def _methods(model: Model, methods: Sequence[str], text: str) -> dict[str, torch.nn.Module]:
    """A copy of the module for each method, with the method as forward(). All share their weights and buffers."""
    if model.programs or len(model.modules) > 1:
        raise CommandError(f"--method chooses among the methods of one module; `{text}` has its methods already.")
    (module,) = model.modules.values()
    chosen = {}
    for name in methods:
        function = getattr(type(module), name, None)
        if not inspect.isfunction(function):
            own = [k for k, v in vars(type(module)).items() if inspect.isfunction(v) and not k.startswith("_")]
            raise CommandError(
                f"`{text}` has no method `{name}`.{closest(name, own)} Its class has: {', '.join(own) or 'none'}."
            )
        alias = copy.copy(module)
        if name != "forward":
            alias.forward = MethodType(function, alias)
        chosen[name] = alias
    return chosen


def _modules(found: Any, text: str) -> dict[str, torch.nn.Module]:
    if callable(found) and not isinstance(found, torch.nn.Module):
        if isinstance(found, type) and not issubclass(found, torch.nn.Module):
            raise CommandError(f"`{text}` is a class, but not one of nn.Module.")
        made = called(found, text)
        kind = "class" if isinstance(found, type) else "function"
        if not isinstance(made, (torch.nn.Module, Mapping)):
            raise CommandError(
                f"The {kind} `{text}` returned {described(made)}; expected an nn.Module, or a dict of them by method "
                f"name."
            )
        found = made
    if isinstance(found, torch.nn.Module):
        return {"forward": found}
    if not isinstance(found, Mapping):
        raise CommandError(
            f"`{text}` is {described(found)}, not a model. Expected an nn.Module, a class of one, a function that "
            f"returns one, or a dict of them by method name."
        )
    wrong = [key for key, value in found.items() if not isinstance(key, str) or not isinstance(value, torch.nn.Module)]
    if wrong or not found:
        what = f"`{wrong[0]}` is {described(found[wrong[0]])}" if wrong else "it is empty"
        raise CommandError(f"`{text}` is a dict, but not one from method names to nn.Modules: {what}.")
    return dict(found)


def _may_be_model(value: Any, surroundings: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return True
    if isinstance(value, type):
        return issubclass(value, torch.nn.Module) and value.__module__ == getattr(surroundings, "__name__", None)
    return inspect.isfunction(value) and value.__module__ == getattr(surroundings, "__name__", None)


def _callable(owner: object, name: str) -> Callable[[], Any] | None:
    found = getattr(owner, name, None)
    return found if callable(found) else None


def _file_name(name: str) -> str:
    """`TinyDecoder` -> `tiny_decoder`, as Python files are named."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.rpartition(".")[2])
    return re.sub(r"[_\W]+", "_", spaced).strip("_").lower() or "model"
