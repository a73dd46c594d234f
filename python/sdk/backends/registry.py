# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of a backend, and the backends that are installed.

A backend of this repository declares itself in `sdk/backends/<name>/declaration.py`, or in
`sdk/backends/<family>/<name>/declaration.py`:

    BACKEND = Backend(
        name="demo",
        id="DemoBackend",
        about="the demonstration backend",
        partitioner="sdk.backends.demo.partitioner:DemoPartitioner",
    )

No list of backends exists; the folders are searched. A package outside this repository declares its backend by an entry
point of the group `sdk.backends`, whose value is the declaration: `demo = "vendor.demo.declaration:BACKEND"`.

`python -m sdk.export --help` imports all declarations, so their modules must not import torch. Expensive parts are
given as `module:name` and imported when they are used. A broken declaration disables only its own backend.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from sdk.backends.language_models import LanguageModels, is_place
from sdk.discovery import PlugIn, plug_ins
from sdk.util.words import similar

GROUP = "sdk.backends"
"""The group of entry points of backends in other packages."""

PORTABLE = "portable"
"""The command line's name for running everything on kernels, without a backend. No backend may have this name."""

_PLACES = ("partitioner", "recipes", "runner", "models", "operators")


class BackendError(ValueError):
    """The backend does not exist, or its declaration is invalid. The message names the file and the field, and says
    what to do.
    """


@dataclass(frozen=True, kw_only=True)
class QuantizationScheme:
    """The scheme that `--quantize NAME` selects for a backend. A name means the same `weights` and `activations` for
    every backend: another scheme needs another name.

    Attributes:
        recipe: The name of the recipe that quantises and lowers, one of the backend's own.
        weights: The dtype in which weights are stored, such as `int4`.
        activations: The dtype in which layers compute: `float`, a dtype with ranges from calibration such as `int8`, or
            `int8 dynamic`, with ranges that are found when the program runs.
        about: Which layers are quantised, and how, for `--help`.
        calibrated: Whether the recipe runs the model on inputs to find ranges, including those of `--calibrate`.
    """

    recipe: str
    weights: str
    activations: str
    about: str
    calibrated: bool = False


_KNOWN = {
    "int8": {"weights": "int8", "activations": "int8", "calibrated": True},
    "int8-dynamic": {"weights": "int8", "activations": "int8 dynamic"},
    "int8-weights": {"weights": "int8", "activations": "float"},
    "int4": {"weights": "int4", "activations": "int8 dynamic"},
    "int4-weights": {"weights": "int4", "activations": "float"},
}
"""The meaning of the names of schemes that several backends have."""


def schemes(**recipes: tuple[str, str]) -> dict[str, QuantizationScheme]:
    """Schemes whose names are known, each with its recipe and a text about its layers. In names, `_` is `-`."""
    found = {}
    for argument, (recipe, about) in recipes.items():
        name = argument.replace("_", "-")
        if name not in _KNOWN:
            raise ValueError(
                f"{name!r} is not a known scheme; expected one of {', '.join(_KNOWN)}. "
                "Declare another one as a QuantizationScheme, with its weights and activations"
            )
        found[name] = QuantizationScheme(recipe=recipe, about=about, **_KNOWN[name])  # type: ignore[arg-type]
    return found


@dataclass(frozen=True, kw_only=True)
class TargetRecipe:
    """The backend's part in `get_ios_recipe` and `get_android_recipe`.

    Attributes:
        system: `ios` or `android`.
        recipe: The name of one of the backend's recipes.
        rest_to_cpu: Whether the default backend for CPUs gets the nodes that this backend does not take.
    """

    system: str
    recipe: str
    rest_to_cpu: bool = False


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A declared backend. Values of the form `module:name` are imported when they are used.

    Attributes:
        name: What users write after `--backend`; also the name of the backend's folder, which has underscores or
            nothing in place of hyphens.
        id: The name under which the runtime knows the backend (`DelegationSpec.backend_id`).
        about: A short description for `--help`.
        partitioner: A callable without arguments that returns the Partitioner. None for a backend without a delegate:
            its recipes lower models to operators that have kernels, and `id` is the namespace of these operators.
        recipes: A callable without arguments that returns the BackendRecipeProvider; None if there are no recipes.
        float_recipe: The name of the recipe that lowers without quantising, if there is one.
        quantization: The schemes of `--quantize`, by name.
        targets: The backend's part in recipes for a kind of device, by the name of the target.
        float16: Whether it computes float16 programs (`--dtype float16`).
        memory_padding: Bytes past the end of an input or output that the backend may read. Its `preprocess` returns
            them in `PreprocessResult.memory_padding`.
        default_on_cpu: Whether this backend lowers models if the user names none.
        runner: How a program is verified without the device: a callable of the paths of the `.pte` and of the `.ptd`
            (or None) that returns an object with `run_method(name, inputs)`, which returns the list of outputs. None
            if the runtime of this package contains the backend, or if only the device can run it.
        runner_note: A phrase for the summary of `sdk.export` that continues "The program was verified by", and
            describes the runner's limits, such as arithmetic that is not the device's.
        tolerance: The relative difference from PyTorch that `sdk.export` allows in the runner if the user names none;
            None means the default of each output's dtype.
        models: How `sdk inspect` lists and writes the models in payloads: a callable of the bytes of a `.pte` and of a
            new folder, or None to write nothing, that returns objects with `name`, `methods`, `bytes` and `operations`
            (how often each is called). None where payloads hold nothing that other tools read.
        operators: The table of the backend's operators, a mapping by their names in the edge dialect, for the
            documentation (`sdk.backends.operators`).
        language_models: The backend's part in the export of language models, if it has one.
        packages: The packages to install with pip for the partitioner, the recipes and the runner, for messages.
    """

    name: str
    id: str
    about: str
    partitioner: str | None
    recipes: str | None = None
    float_recipe: str | None = None
    quantization: Mapping[str, QuantizationScheme] = field(default_factory=dict)
    targets: Mapping[str, TargetRecipe] = field(default_factory=dict)
    float16: bool = False
    memory_padding: int = 0
    default_on_cpu: bool = False
    runner: str | None = None
    runner_note: str = ""
    tolerance: float | None = None
    models: str | None = None
    operators: str | None = None
    language_models: LanguageModels | None = None
    packages: tuple[str, ...] = ()
    place: str = field(default="", compare=False, repr=False)  # set by the registry: the file, for messages

    def __post_init__(self) -> None:
        """Raises ValueError for a field with an invalid value."""
        for name in ("name", "id", "about"):
            _expect(self, name, isinstance(getattr(self, name), str) and getattr(self, name), "text")
        _expect(self, "name", self.name != PORTABLE, f"another name: `{PORTABLE}` means the portable kernels")
        for name in _PLACES:
            value = getattr(self, name)
            _expect(self, name, is_place(value) or value is None, "`module:name`")
        _expect(self, "partitioner", self.partitioner or self.recipes, "`module:name` where `recipes` is None")
        _expect(self, "float_recipe", self.float_recipe is None or self.recipes, "None where `recipes` is None")
        for name, kind in (("quantization", QuantizationScheme), ("targets", TargetRecipe)):
            value = getattr(self, name)
            good = isinstance(value, Mapping) and all(isinstance(entry, kind) for entry in value.values())
            _expect(self, name, good, f"a mapping from names to {kind.__name__}")
            _expect(self, name, not value or self.recipes, "no entries where `recipes` is None")
            object.__setattr__(self, name, MappingProxyType(dict(value)))
        systems = [target.system for target in self.targets.values()]
        _expect(self, "targets", set(systems) <= {"ios", "android"}, "targets whose system is `ios` or `android`")
        padding = self.memory_padding
        good = isinstance(padding, int) and not isinstance(padding, bool) and padding >= 0
        _expect(self, "memory_padding", good, "a number of bytes, 0 or more")
        for name in ("default_on_cpu", "float16"):
            _expect(self, name, isinstance(getattr(self, name), bool), "True or False")
        good = self.language_models is None or isinstance(self.language_models, LanguageModels)
        _expect(self, "language_models", good, "LanguageModels, or None")
        _expect(self, "runner_note", isinstance(self.runner_note, str), "text")
        allowed = self.tolerance is None or (isinstance(self.tolerance, float) and self.tolerance > 0)
        _expect(self, "tolerance", allowed, "a number above 0, or None")
        good = isinstance(self.packages, tuple) and all(isinstance(package, str) for package in self.packages)
        _expect(self, "packages", good, 'a tuple of requirements, for example ("numpy>=1.26",)')

    @property
    def identifier(self) -> str:
        """Returns the name without hyphens, which is the name of the backend's group of settings for language
        models."""
        return self.name.replace("-", "")

    def make(self, part: str) -> Any:
        """Calls the callable that the field `part` names, and returns its result: `make("partitioner")`. Raises
        BackendError."""
        return self.find(part)()

    def find(self, part: str) -> Any:
        """Returns the callable that the field `part` names. Raises BackendError if it does not exist or its import
        fails."""
        value = getattr(self, part)
        if value is None:
            raise BackendError(f"The backend {self.name} has no {part} ({self.place}: field `{part}`).")
        return self.imported(value, part)

    def imported(self, value: str, part: str) -> Any:
        """Returns the object that `module:name` in the field `part` names. Raises BackendError if it does not exist or
        its import fails."""
        module, _, name = value.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            mend = f" Install what it needs: pip install {' '.join(map(repr, self.packages))}" if self.packages else ""
            raise BackendError(
                f"The {part} of the backend {self.name} cannot be imported: {error} ({self.place}: field `{part}` is "
                f"`{value}`).{mend}"
            ) from error


def backends() -> Mapping[str, Backend]:
    """Returns the usable declarations by name: those of this repository first, sorted by name."""
    return MappingProxyType(_registry()[0])


def broken() -> Mapping[str, BackendError]:
    """The errors of the unusable declarations, by the name of their folder or entry point."""
    return MappingProxyType(_registry()[1])


def backend(name: str) -> Backend:
    """Returns the declaration of a backend. Raises BackendError if it is broken or does not exist."""
    usable, errors = _registry()
    if name in usable:
        return usable[name]
    if name in errors:
        raise errors[name]
    near = similar(name, usable)
    meant = f" Did you mean `{near}`?" if near else ""
    raise BackendError(f"There is no backend `{name}`; the known ones are: {', '.join(usable) or 'none'}.{meant}")


def backend_of_id(id: str) -> Backend | None:
    """The declaration of the backend with the runtime's name `id`."""
    return next((found for found in backends().values() if found.id == id), None)


def default_backend() -> Backend | None:
    """Returns the backend that lowers models if the user names none, or None if no backend has `default_on_cpu`.

    Raises BackendError if two backends have it.
    """
    found = [declared for declared in backends().values() if declared.default_on_cpu]
    if len(found) > 1:
        places = ", ".join(f"{declared.name} ({declared.place})" for declared in found)
        raise BackendError(
            f"More than one backend is the default on CPUs (field `default_on_cpu`): {places}. Name one with --backend."
        )
    return found[0] if found else None


def forget() -> None:
    """Makes the next call search again. For tests that add backends."""
    _registry.cache_clear()


@cache
def _registry() -> tuple[dict[str, Backend], dict[str, BackendError]]:
    usable: dict[str, Backend] = {}
    errors: dict[str, BackendError] = {}
    for plug_in in plug_ins("sdk.backends", "declaration.py", 2, GROUP):
        try:
            declared = _declaration(plug_in)
            _check_unique(declared, usable)
        except BackendError as error:
            # A second backend with the same name does not hide the first.
            errors[plug_in.name if plug_in.name not in usable else f"{plug_in.name} ({plug_in.module})"] = error
        else:
            usable[declared.name] = declared
    return usable, errors


def _declaration(plug_in: PlugIn) -> Backend:
    try:
        found = plug_in.load()
        found = found if plug_in.attribute else found.BACKEND
    except Exception as error:  # any exception: a broken backend must not disable the others
        detail = str(error)
        if isinstance(error, TypeError) and "argument" in detail:
            detail += f"; the fields are: {', '.join(f.name for f in dataclasses.fields(Backend) if f.name != 'place')}"
        elif isinstance(error, AttributeError) and not plug_in.attribute:
            detail += "; expected `BACKEND = Backend(...)`"
        raise BackendError(f"{plug_in.place}: the declaration of the backend is broken: {detail}") from error
    if not isinstance(found, Backend):
        raise BackendError(f"{plug_in.place}: expected a Backend, found {type(found).__name__}")
    # A folder of Python's cannot have hyphens.
    if plug_in.name not in (found.name, found.identifier, found.name.replace("-", "_")):
        raise BackendError(
            f"{plug_in.place}: field `name` is `{found.name}`; expected `{plug_in.name}`, as the folder or the entry "
            f"point is called"
        )
    return dataclasses.replace(found, place=plug_in.place)


def _check_unique(declared: Backend, usable: Mapping[str, Backend]) -> None:
    for other in usable.values():
        for name in ("name", "id"):
            if getattr(declared, name) == getattr(other, name):
                raise BackendError(
                    f"{declared.place}: field `{name}` is `{getattr(declared, name)}`, which the backend of "
                    f"{other.place} has already; give it another one"
                )
        for name in declared.quantization.keys() & other.quantization.keys():
            here, there = (
                f"{scheme.weights} weights, {scheme.activations} activations"
                for scheme in (declared.quantization[name], other.quantization[name])
            )
            if here != there:
                raise BackendError(
                    f"{declared.place}: field `quantization`: `{name}` is {here}, but {there} in {other.place}; give "
                    f"the scheme another name"
                )


def _expect(declared: Backend, name: str, good: object, expected: str) -> None:
    if not good:
        raise ValueError(f"field `{name}` is {getattr(declared, name)!r}; expected {expected}")
