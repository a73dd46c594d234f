# SPDX-License-Identifier: BSD-3-Clause
"""Runs Core ML programs in PyTorch, without Apple's systems. The results are a reference; Apple's arithmetic differs.

    from sdk.backends.apple.coreml.verify import CoreMLProgram, run

    outputs = run(payload, "forward", [torch.ones(1, 3)])
    program = CoreMLProgram.from_payload(payload)  # keeps states between calls
    outputs = program.run("forward", [torch.ones(1, 3)])

`python -m sdk.export --backend coreml` verifies programs with this reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from sdk.backends.apple.coreml.container import PayloadError, Tree, file_at, read_folder, unpack, unpack_shared
from sdk.backends.apple.coreml.verify.interpreter import Function, UnknownOperationError
from sdk.backends.apple.coreml.verify.model import Model, read_package

__all__ = ["CoreMLProgram", "PayloadError", "UnknownOperationError", "run"]

NamedData = Callable[[str], "bytes | memoryview"]
"""Gives the named data of the program under a key."""


class CoreMLProgram:
    """A model of Core ML with its states. Each function keeps its own."""

    def __init__(self, model: Model, names: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> None:
        """`names` has the names of the inputs and outputs of each function, in the order of the caller."""
        self.model = model
        self._names = names
        self._functions: dict[str, Function] = {}

    @classmethod
    def from_payload(cls, payload: bytes | memoryview, named_data: NamedData | None = None) -> CoreMLProgram:
        """The program of a delegate's payload.

        Raises:
            PayloadError: the payload is damaged, or names a model that `named_data` does not give.
        """
        shared = unpack_shared(payload)
        if shared is not None:
            if named_data is None:
                raise PayloadError(f"the payload names the model {shared.key!r}, which is in the program's named data")
            payload = named_data(shared.key)
        _, tree = unpack(payload)
        package = tree.get("model.mlpackage")
        if not isinstance(package, Mapping):
            compiled = "model.mlmodelc" in tree
            raise PayloadError(
                "the payload holds a model that Apple's compiler has compiled, which only Core ML reads"
                if compiled
                else "the payload holds no model.mlpackage"
            )
        model = read_package(package)
        names = _names(file_at(tree, "metadata.json"), model)
        if shared is not None:
            if shared.function_name not in names:
                raise PayloadError(f"the model {shared.key!r} has no function {shared.function_name!r}")
            names = {shared.function_name: names[shared.function_name]}
        return cls(model, names)

    @classmethod
    def from_package(cls, path: str | Path) -> CoreMLProgram:
        """The program of a `.mlpackage`, a folder."""
        tree: Tree = read_folder(path)
        model = read_package(tree)
        return cls(model, {name: _described(model, name) for name in model.functions})

    @property
    def functions(self) -> list[str]:
        """The names of the functions."""
        return list(self._names)

    def function(self, name: str) -> Function:
        """A function of the model. If the model has only one, every name selects it."""
        if len(self._names) == 1:
            name = next(iter(self._names))
        if name not in self._names:
            raise PayloadError(f"there is no function {name!r}; the functions are {', '.join(self._names)}")
        inner = name if name in self.model.functions else self.model.default_function
        return self._functions.setdefault(name, Function(self.model, inner))

    def input_count(self, method_name: str) -> int:
        """The number of inputs of a function."""
        return len(self.function(method_name).inputs)

    def run(self, method_name: str, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs of a function, which changes its states.

        Raises:
            ValueError: there are too few or too many inputs, or a shape is not allowed.
            UnknownOperationError: the program has an operation that is not known.
        """
        function = self.function(method_name)
        key = method_name if method_name in self._names else next(iter(self._names))
        given, returned = self._names[key]
        if len(given) != len(inputs):
            raise ValueError(f"{method_name} has {len(given)} inputs ({', '.join(given)}); {len(inputs)} are given")
        results = function.run(dict(zip(given, (_at_least_1d(each) for each in inputs), strict=True)))
        return [results[name] for name in returned]


def run(program_bytes: bytes, method_name: str, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The outputs of a payload, whose states start at zero. `CoreMLProgram` keeps them between calls."""
    return CoreMLProgram.from_payload(program_bytes).run(method_name, inputs)


def _at_least_1d(tensor: torch.Tensor) -> torch.Tensor:
    """Gives a tensor of rank 0 the shape [1], as coremltools does, because Core ML has no inputs of rank 0."""
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


def _names(metadata: bytes | memoryview, model: Model) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    try:
        found = json.loads(bytes(metadata).decode("utf-8"))
        methods = found.get("methods", {model.default_function: found})
        names = {name: (each["inputNames"], each["outputNames"]) for name, each in methods.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PayloadError(f"metadata.json is damaged: {error!r}") from error
    texts = [text for given, returned in names.values() for text in (*given, *returned)]
    if not all(isinstance(text, str) for text in texts):
        raise PayloadError("metadata.json is damaged: the names of inputs and outputs are not texts")
    return names


def _described(model: Model, name: str) -> tuple[list[str], list[str]]:
    description = model.spec.description
    function = next((each for each in description.functions if each.name == name), description)
    return [entry.name for entry in function.input], [entry.name for entry in function.output]
