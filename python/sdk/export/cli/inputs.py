# SPDX-License-Identifier: BSD-3-Clause
"""The example inputs: what the model is captured with, and what the written program is verified with."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from sdk.export.cli.arguments import InputSpec
from sdk.export.cli.errors import CommandError, closest, first_lines, user_line
from sdk.export.cli.model import Model


@dataclass
class Inputs:
    """A call of forward(): `module(*args, **kwargs)`. Keyword inputs stand in the order of forward()'s parameters."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def leaves(self) -> list[Any]:
        """The inputs as the program takes them: nested tuples, lists and dicts flattened, in order."""
        return pytree.tree_leaves((self.args, self.kwargs))

    def copy(self) -> Inputs:
        """The same values in tensors of their own: a model may write to its inputs."""
        args, kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, (self.args, self.kwargs))
        return Inputs(args, kwargs)

    def describe(self) -> str:
        """`float32[1, 3, 224, 224], int64[1, 128]`."""
        return ", ".join(describe(leaf) for leaf in self.leaves()) or "no inputs"


def describe(value: Any) -> str:
    """`float32[1, 3]` for a tensor, the value itself for a number."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__


def example_inputs(model: Model, specs: Sequence[InputSpec], file: Path | None) -> Inputs:
    """The inputs that the command line, a file or the model itself gives, in this order of preference.

    Raises:
        CommandError: there are none, they cannot be read, or forward() does not take them.
    """
    if specs:
        generator = torch.Generator().manual_seed(0)
        given: Any = tuple(make_input(spec, generator) for spec in specs)
        source = "--input"
    elif file is not None:
        given = _read(file)
        source = f"`{file}`"
    elif model.example_inputs is not None:
        try:
            given = model.example_inputs()
        except Exception as error:
            line = user_line(error)
            at = f"\n  {line}" if line else ""
            raise CommandError(
                f"example_inputs() failed: {type(error).__name__}: {first_lines(error, 3)}{at}"
            ) from error
        source = "example_inputs()"
    elif not _parameters(model.module):
        given, source = (), "forward()"
    else:
        raise CommandError(
            f"The model needs example inputs: forward({', '.join(_parameters(model.module))}). Give one --input "
            f"SHAPE:DTYPE for "
            f"each (for example --input 1x3x224x224:float32), or --inputs FILE.pt, or define example_inputs() in "
            f"the model's file."
        )
    inputs = _as_call(given, source)
    _check_call(model, inputs, source)
    inputs.kwargs = _in_order(model.module, inputs.kwargs)
    return inputs


def make_input(spec: InputSpec, generator: torch.Generator) -> Any:
    """The tensor or number that one `--input` describes; the same on every call with an equally seeded generator."""
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
    except RuntimeError as error:  # an impossible size: torch says which
        raise CommandError(f"The tensor of --input {spec.text} could not be made: {first_lines(error, 1)}") from error


def _read(file: Path) -> Any:
    if not file.is_file():
        raise CommandError(f"There is no file `{file}`.")
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        raise CommandError(
            f"`{file}` could not be read as inputs: expected a file in which torch.save() wrote tensors, numbers, "
            f"and tuples, "
            f"lists or dicts of them. {first_lines(error, 1)}"
        ) from error


def _as_call(given: Any, source: str) -> Inputs:
    if isinstance(given, Mapping):
        if not all(isinstance(key, str) for key in given):
            raise CommandError(f"{source} gave a dict whose keys are not all names of inputs.")
        return Inputs((), dict(given))
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict):
        return Inputs(given[0], dict(given[1]))  # what ExportedProgram.example_inputs holds: (args, kwargs)
    if isinstance(given, (tuple, list)):
        return Inputs(tuple(given), {})
    if isinstance(given, (torch.Tensor, bool, int, float)):
        return Inputs((given,), {})
    raise CommandError(
        f"{source} gave a value of type {type(given).__name__}; expected a tensor, a tuple or list of inputs, or a "
        f"dict of "
        f"keyword inputs."
    )


def _parameters(module: torch.nn.Module) -> list[str]:
    parameters = inspect.signature(module.forward).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _check_call(model: Model, inputs: Inputs, source: str) -> None:
    signature = inspect.signature(model.module.forward)
    unknown = [name for name in inputs.kwargs if name not in signature.parameters]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    if unknown and not takes_any:
        raise CommandError(
            f"{source} gave an input named `{unknown[0]}`, but forward{signature} has no such parameter."
            f"{closest(unknown[0], signature.parameters)}"
        )
    try:
        signature.bind(*inputs.args, **inputs.kwargs)
    except TypeError as error:
        count = len(inputs.args) + len(inputs.kwargs)
        raise CommandError(
            f"{source} gave {count} input(s) ({inputs.describe()}), but the model is forward{signature}: {error}."
        ) from error


def _in_order(module: torch.nn.Module, kwargs: dict[str, Any]) -> dict[str, Any]:
    names = list(inspect.signature(module.forward).parameters)
    return {name: kwargs[name] for name in sorted(kwargs, key=lambda n: names.index(n) if n in names else len(names))}
