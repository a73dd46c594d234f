# SPDX-License-Identifier: BSD-3-Clause
"""`TrainingModule`: a program whose methods return gradients and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sdk.exir._warnings import experimental
from sdk.extension.pybindings.portable_lib import (
    ExecuTorchMethod,
    ExecuTorchProgram,
    _load_program,
    _load_program_from_buffer,
)


class TrainingModule:
    """A program that is trained.

    .. warning:: This API is experimental.
    """

    def __init__(self, program: ExecuTorchProgram) -> None:
        self._program = program
        self._names = [program.get_method_name(index) for index in range(program.num_methods())]
        self._methods: dict[str, tuple[ExecuTorchMethod, int, int, list[str]]] = {}
        self._gradients: dict[str, dict[str, Tensor]] = {}
        self._last = "forward"

    def forward_backward(self, method_name: str, inputs: Sequence[Any]) -> list[Any]:
        """Runs a method and returns its outputs without gradients and parameters: the loss, and others of the model.

        Raises ValueError for a method that gives no gradients, and `ExecuTorchError` if the run fails.
        """
        method, first, parameters, names = self._find(method_name)
        outputs = method.call(list(inputs), clone_outputs=False)
        gradients = [_as_tensor(value).clone() for value in outputs[first:parameters]]
        self._gradients[method_name], self._last = dict(zip(names, gradients, strict=False)), method_name
        return [value.clone() if isinstance(value, Tensor) else value for value in outputs[:first]]

    def named_gradients(self, method_name: str | None = None) -> dict[str, Tensor]:
        """Copies of the gradients of the last run of a method, by the names of their parameters. Without a name, the
        method is the one that ran last. Raises RuntimeError if it has not run."""
        name = method_name or self._last
        if name not in self._gradients:
            raise RuntimeError(f"method {name!r} has not run: call forward_backward({name!r}, ...) first")
        return self._gradients[name]

    def named_parameters(self, method_name: str | None = None) -> dict[str, Tensor]:
        """The parameters by their names: views of the memory that the next run reads. They keep the program alive.

        Raises ValueError for a method that gives no gradients.
        """
        method, _, parameters, names = self._find(method_name or self._last)
        outputs = method.get_outputs(clone_outputs=False)
        return {name: _as_tensor(value) for name, value in zip(names, outputs[parameters:], strict=False)}

    def _find(self, name: str) -> tuple[ExecuTorchMethod, int, int, list[str]]:
        """Returns the method, the indices of the first gradient and of the first parameter among its outputs, and the
        names of the parameters."""
        if name not in self._methods:
            if name not in self._names:
                raise ValueError(f"there is no method {name!r}; the program has: {', '.join(self._names)}")
            parts = [f"__et_training_{part}_{name}" for part in ("gradients_index", "parameters_index", "fqn")]
            if any(part not in self._names for part in parts):
                raise ValueError(
                    f"method {name!r} gives no gradients: export it with "
                    "torch.export.experimental._export_forward_backward"
                )
            (first,), (parameters,), names = (self._program.load_method(part).call([]) for part in parts)
            method = self._program.load_method(name)
            count = method.method_meta().num_outputs()
            if not 0 <= first <= first + len(names) <= parameters <= parameters + len(names) <= count:
                raise ValueError(
                    f"method {name!r} is said to have {len(names)} gradients from output {first} on and as many "
                    f"parameters from {parameters} on, found {count} outputs"
                )
            self._methods[name] = method, first, parameters, names
        return self._methods[name]


def _as_tensor(value: Any) -> Tensor:
    """An output as a tensor of the same memory. Before the first run, outputs are arrays."""
    return value if isinstance(value, Tensor) else torch.from_numpy(value)


@experimental("This API is experimental and may change without notice.")
def _load_for_executorch_for_training(path: str | Path, data_path: str | Path | None = None) -> TrainingModule:
    """The program in a file, with the `.ptd` file of its weights if they are outside."""
    return TrainingModule(_load_program(str(path), data_path=None if data_path is None else str(data_path)))


@experimental("This API is experimental and may change without notice.")
def _load_for_executorch_for_training_from_buffer(
    buffer: bytes, data_map_buffer: bytes | None = None
) -> TrainingModule:
    """The program in `buffer`, with the contents of a `.ptd` file if its weights are outside."""
    return TrainingModule(_load_program_from_buffer(buffer, data_map_buffer=data_map_buffer))
