# SPDX-License-Identifier: BSD-3-Clause
"""The example inputs, with which the model is captured and the program is verified."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from sdk.export.cli.arrays import read_npy, read_npz, read_saved
from sdk.export.cli.errors import CommandError, closest, failed, first_lines
from sdk.export.cli.model import Model
from sdk.export.cli.places import called, find, surroundings_of
from sdk.export.cli.specs import InputSpec
from sdk.export.example_inputs import ExampleInputs
from sdk.util.words import no_file


def example_inputs(model: Model, specs: Sequence[InputSpec], file: Path | None) -> dict[str, ExampleInputs]:
    """For each method, the inputs of the command line, else of a file, else of the model itself.

    Raises:
        CommandError: they are missing, they cannot be read, or the method does not accept them.
    """
    given, source = _given(model, specs, file)
    found = {}
    for method, module in model.modules.items():
        if method not in given:
            parameters = _parameters(module)
            if parameters:
                raise CommandError(_missing(model, method, parameters))
            given[method] = ()
        inputs = _as_call(given[method], source)
        _check_call(method, module, inputs, source)
        inputs.kwargs = _in_order(module, inputs.kwargs)
        found[method] = inputs
    return found


def _given(model: Model, specs: Sequence[InputSpec], file: Path | None) -> tuple[dict[str, Any], str]:
    """The given inputs by method, and where they come from."""
    if specs:
        generator = torch.Generator().manual_seed(0)
        by_method: dict[str, list[Any]] = {}
        for spec in specs:
            method = method_of(model.methods, spec.method, f"--input {spec.text}")
            by_method.setdefault(method, []).append(make_input(spec, generator))
        return {method: tuple(values) for method, values in by_method.items()}, "--input"
    if file is not None:
        return _by_method(read_inputs(file), model, f"`{file}`"), f"`{file}`"
    if model.example_inputs is None:
        return {}, "forward()"
    try:
        given = model.example_inputs()
    except Exception as error:
        raise failed("example_inputs()", error) from error
    return _by_method(given, model, "example_inputs()"), "example_inputs()"


def method_of(methods: Sequence[str], said: str | None, what: str) -> str:
    """The method to which an argument of the command line belongs. Raises CommandError if that is missing or wrong."""
    if said is None:
        if len(methods) == 1:
            return methods[0]
        raise CommandError(
            f"{what}: the program has the methods {', '.join(methods)}; say which one is meant, for example "
            f"{what.partition(' ')[0]} {methods[0]}:{what.partition(' ')[2]}."
        )
    if said not in methods:
        raise CommandError(
            f"{what}: there is no method `{said}`; there is {', '.join(methods)}.{closest(said, methods)}"
        )
    return said


def _by_method(given: Any, model: Model, source: str) -> dict[str, Any]:
    methods = model.methods
    if isinstance(given, Mapping) and given and set(given) <= set(methods):
        return dict(given)
    if len(methods) == 1:
        return {methods[0]: given}
    keys = f"a dict of {', '.join(map(str, given))}" if isinstance(given, Mapping) else f"a {type(given).__name__}"
    raise CommandError(
        f"{source} gave {keys}; for a program with the methods {', '.join(methods)}, expected a dict from their names "
        f"to their inputs."
    )


def _missing(model: Model, method: str, parameters: Sequence[str]) -> str:
    prefix = f"{method}:" if len(model.methods) > 1 else ""
    return (
        f"The model needs example inputs: {method}({', '.join(parameters)}). Give one --input {prefix}SHAPE:DTYPE for "
        f"each (for example --input {prefix}1x3x224x224:float32), or --inputs FILE (.pt, .npy, .npz or file.py:name), "
        f"or define example_inputs() in the model's file."
    )


def make_input(spec: InputSpec, generator: torch.Generator) -> Any:
    """The tensor or number that one `--input` describes. Generators with equal seeds give equal tensors."""
    if spec.shape is None:
        return spec.number
    dtype = getattr(torch, str(spec.dtype))
    try:
        if spec.low is not None and spec.high is None:
            return torch.full(spec.shape, spec.low, dtype=dtype)
        if dtype.is_floating_point:
            if spec.low is not None and spec.high is not None:
                unit = torch.rand(spec.shape, generator=generator)
                return (unit * (spec.high - spec.low) + spec.low).to(dtype)
            return torch.randn(spec.shape, generator=generator).to(dtype)
        low = 0 if spec.low is None else int(spec.low)
        high = 1 if spec.high is None else int(spec.high)
        return torch.randint(low, high + 1, spec.shape, generator=generator).to(dtype)
    except (RuntimeError, ValueError) as error:  # an impossible size or range: torch says which
        raise CommandError(f"The tensor of --input {spec.text} could not be made: {first_lines(error, 1)}") from error


def read_inputs(file: Path) -> Any:
    """Reads the inputs from a file of torch.save(), an array (`.npy`), or several arrays (`.npz`), which are positional
    inputs if they have no names. `file.py:name` or `package.module:name` names a value, or a function without arguments
    that returns it. Raises CommandError."""
    if not file.is_file():
        place, colon, name = str(file).rpartition(":")
        if not colon:
            raise CommandError(no_file(file))
        found = find(surroundings_of(place), name, place, lambda value, _: inspect.isroutine(value))
        return called(found, str(file)) if callable(found) else found
    if file.suffix.lower() == ".npy":
        return _tensor(read_npy(file), f"`{file}`")
    if file.suffix.lower() == ".npz":
        arrays = {name: _tensor(array, f"`{name}` in `{file}`") for name, array in read_npz(file).items()}
        unnamed = all(name == f"arr_{index}" for index, name in enumerate(arrays))
        return tuple(arrays.values()) if unnamed else arrays
    return read_saved(file)


def _tensor(array: np.ndarray, what: str) -> torch.Tensor:
    try:
        return torch.from_numpy(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).reshape(array.shape))
    except (TypeError, ValueError) as error:
        raise CommandError(f"{what} has the dtype {array.dtype}, which torch does not have.") from error


def _as_call(given: Any, source: str) -> ExampleInputs:
    if isinstance(given, Mapping) and not all(isinstance(key, str) for key in given):
        raise CommandError(f"{source} gave a dict whose keys are not all names of inputs.")
    given = pytree.tree_map_only(np.ndarray, lambda array: _tensor(array, f"An array that {source} gave"), given)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict):
        return ExampleInputs(given[0], dict(given[1]))  # the form of ExportedProgram.example_inputs: (args, kwargs)
    try:
        return ExampleInputs.of(given)
    except TypeError as error:
        raise CommandError(
            f"{source} gave a value of type {type(given).__name__}; expected a tensor, a tuple or list of inputs, or a "
            f"dict of keyword inputs."
        ) from error


def _parameters(module: torch.nn.Module) -> list[str]:
    parameters = inspect.signature(module.forward).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _check_call(method: str, module: torch.nn.Module, inputs: ExampleInputs, source: str) -> None:
    signature = inspect.signature(module.forward)
    unknown = [name for name in inputs.kwargs if name not in signature.parameters]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    if unknown and not takes_any:
        raise CommandError(
            f"{source} gave an input named `{unknown[0]}`, but {method}{signature} has no such parameter."
            f"{closest(unknown[0], signature.parameters)}"
        )
    try:
        signature.bind(*inputs.args, **inputs.kwargs)
    except TypeError as error:
        count = len(inputs.args) + len(inputs.kwargs)
        raise CommandError(
            f"{source} gave {count} input(s) ({inputs.describe()}), but the model is {method}{signature}: {error}."
        ) from error


def _in_order(module: torch.nn.Module, kwargs: dict[str, Any]) -> dict[str, Any]:
    names = list(inspect.signature(module.forward).parameters)
    return {name: kwargs[name] for name in sorted(kwargs, key=lambda n: names.index(n) if n in names else len(names))}
