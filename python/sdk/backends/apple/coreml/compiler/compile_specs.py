# SPDX-License-Identifier: BSD-3-Clause
"""Converts the options of `CoreMLBackend` to compile specs and back. ExecuTorch makes the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch.export import ExportedProgram

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.exir.backend.compile_spec_schema import CompileSpec


class COMPILE_SPEC_KEYS(Enum):  # noqa: N801 -- ExecuTorch's name
    """The keys of compile specs."""

    COMPUTE_UNITS = "compute_units"
    MODEL_TYPE = "model_type"
    MIN_DEPLOYMENT_TARGET = "min_deployment_target"
    MODEL_COMPUTE_PRECISION = "model_compute_precision"
    OP_LINEAR_QUANTIZER_CONFIG = "op_linear_quantizer_config"
    ENUMERATED_SHAPES = "enumerated_shapes"
    PASS_PIPELINE = "pass_pipeline"
    MULTIMETHOD_WEIGHT_SHARING_STRATEGY = "multimethod_weight_sharing_strategy"


class MULTIMETHOD_WEIGHT_SHARING_STRATEGY(Enum):  # noqa: N801 -- ExecuTorch's name
    """Whether methods share weights: not at all, or partition i of each method with partition i of the others."""

    DISABLED = "disabled"
    POSITIONAL = "positional"


class ModelType(Enum):
    """The kind of model in a payload: a package that the device compiles, or a model compiled ahead of time (macOS
    only)."""

    MODEL = "model"
    COMPILED_MODEL = "compiled_model"


@dataclass(frozen=True)
class SymbolicDimension:
    """A dimension of an input with a range of sizes."""

    name: str
    low: int
    high: int | None


@dataclass(frozen=True)
class EnumeratedShape:
    """The sizes that an input of this shape may have, and the inputs."""

    shape: tuple[int | SymbolicDimension, ...]
    sizes: tuple[tuple[int, ...], ...]
    inputs: tuple[str, ...]


def text_of(specs: Sequence[CompileSpec], key: COMPILE_SPEC_KEYS) -> str | None:
    """The text of the last spec with a key; None without such a spec."""
    found = None
    for spec in specs:
        if spec.key == key.value:
            found = bytes(spec.value).decode("utf-8")
    return found


def make(key: COMPILE_SPEC_KEYS, value: str) -> CompileSpec:
    """A compile spec with a text."""
    return CompileSpec(key.value, value.encode("utf-8"))


def check_keys(specs: Sequence[CompileSpec]) -> None:
    """Raises ValueError for a key that Core ML does not have."""
    known = [key.value for key in COMPILE_SPEC_KEYS]
    for spec in specs:
        if spec.key not in known:
            raise ValueError(f"Core ML has no compile spec {spec.key!r}; it has {', '.join(known)}")


def member(kind: Any, value: Any, what: str) -> Any:
    """The member of an enumeration with a value. Raises ValueError with the values that exist."""
    try:
        return kind(value)
    except ValueError:
        raise ValueError(
            f"{what} is {value!r}; expected one of {', '.join(str(each.value) for each in kind)}"
        ) from None


def target_of(specs: Sequence[CompileSpec]) -> Any:
    """The deployment target, or None."""
    text = text_of(specs, COMPILE_SPEC_KEYS.MIN_DEPLOYMENT_TARGET)
    if not text:
        return None
    target = coremltools().target
    return member(target, int(text) if text.isdigit() else text, "the deployment target")


def shapes_to_text(program: ExportedProgram, shapes: Mapping[str, Sequence[Sequence[int]]]) -> str:
    """The text of enumerated shapes.

    Raises:
        ValueError: `shapes` does not fit the inputs of the program. The message names the input and the allowed shapes.
    """
    entries: list[EnumeratedShape] = []
    inputs = {
        node.name: node.meta["val"]
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in program.graph_signature.user_inputs
    }
    unknown = [name for name in shapes if name not in inputs]
    if unknown:
        raise ValueError(f"the program has no input {', '.join(unknown)}; it has {', '.join(inputs)}")
    count = None
    for name, value in inputs.items():
        if not isinstance(value, torch.Tensor):
            continue
        symbolic = any(not isinstance(size, int) for size in value.shape)
        if not symbolic:
            if name in shapes:
                raise ValueError(
                    f"the input {name} has the fixed shape {list(value.shape)}; enumerate dynamic ones only"
                )
            continue
        if name not in shapes:
            raise ValueError(f"the input {name} has a dynamic shape, but no shapes are enumerated for it")
        sizes = tuple(tuple(int(size) for size in shape) for shape in shapes[name])
        if len(sizes) < 2 or len(set(sizes)) != len(sizes):
            raise ValueError(
                f"the input {name} has the enumerated shapes {sizes}; expected at least two different ones"
            )
        if count not in (None, len(sizes)):
            raise ValueError(
                f"the input {name} has {len(sizes)} enumerated shapes, another has {count}; expected equally many"
            )
        count = len(sizes)
        shape = tuple(_dimension(program, size) for size in value.shape)
        for given in sizes:
            _check_sizes(name, given, shape)
        same = [i for i, entry in enumerate(entries) if entry.shape == shape]
        if same:
            entry = entries[same[0]]
            if entry.sizes != sizes:
                raise ValueError(
                    f"the inputs {entry.inputs[0]} and {name} have the same shape; enumerate the same sizes"
                )
            entries[same[0]] = EnumeratedShape(shape, sizes, (*entry.inputs, name))
        else:
            entries.append(EnumeratedShape(shape, sizes, (name,)))
    _check_symbols(entries)
    return json.dumps(
        [
            [
                {"shape": [_dimension_json(size) for size in entry.shape]},
                [[list(s) for s in entry.sizes], list(entry.inputs)],
            ]
            for entry in entries
        ]
    )


def _check_symbols(entries: Sequence[EnumeratedShape]) -> None:
    """Checks that dimensions with the same symbol have equal sizes in each combination."""
    seen: dict[str, tuple[tuple[int, ...], str]] = {}
    for entry in entries:
        for axis, size in enumerate(entry.shape):
            if isinstance(size, SymbolicDimension):
                sizes = tuple(shape[axis] for shape in entry.sizes)
                before = seen.setdefault(size.name, (sizes, entry.inputs[0]))
                if before[0] != sizes:
                    raise ValueError(
                        f"{entry.inputs[0]} and {before[1]} share the dimension {size.name}, but its "
                        "enumerated sizes are "
                        f"{list(sizes)} and {list(before[0])}"
                    )


def shapes_from_text(text: str) -> list[EnumeratedShape]:
    """The enumerated shapes of a compile spec."""

    def dimension(size: Any) -> int | SymbolicDimension:
        return size if isinstance(size, int) else SymbolicDimension(size["key_name"], size["low"], size["high"])

    try:
        return [
            EnumeratedShape(
                tuple(dimension(size) for size in entry["shape"]),
                tuple(tuple(shape) for shape in sizes),
                tuple(names),
            )
            for entry, (sizes, names) in json.loads(text)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the compile spec enumerated_shapes is damaged: {error!r}") from error


def _dimension(program: ExportedProgram, size: Any) -> int | SymbolicDimension:
    if isinstance(size, int):
        return size
    limits = program.range_constraints.get(size.node.expr)
    if limits is None:
        raise ValueError(f"the size {size} is computed from others; enumerate inputs whose sizes are symbols")
    high = int(limits.upper) if limits.upper.is_finite and limits.upper < 1 << 62 else None
    return SymbolicDimension(str(size), int(limits.lower), high)


def _check_sizes(name: str, given: Sequence[int], shape: Sequence[int | SymbolicDimension]) -> None:
    if len(given) != len(shape):
        raise ValueError(f"the enumerated shape {list(given)} of {name} has rank {len(given)}; expected {len(shape)}")
    for axis, (size, expected) in enumerate(zip(given, shape, strict=True)):
        if isinstance(expected, int):
            if size != expected:
                raise ValueError(
                    f"the enumerated shape {list(given)} of {name} has size {size} at axis {axis}; expected {expected}"
                )
            continue
        # torch.export raises the least size of a dimension to 2, because 0 and 1 are special to it.
        low = 1 if expected.low == 2 else expected.low
        if size < low or (expected.high is not None and size > expected.high):
            raise ValueError(
                f"the enumerated shape {list(given)} of {name} has size {size} at axis {axis}; the program allows "
                f"{low} to {'any size' if expected.high is None else expected.high}"
            )


def _dimension_json(size: int | SymbolicDimension) -> Any:
    return size if isinstance(size, int) else {"key_name": size.name, "low": size.low, "high": size.high}
