# SPDX-License-Identifier: BSD-3-Clause
"""Programs that a backend's runner computes instead of its device, to compare results. Their time means nothing."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdk.extension.pybindings.portable_lib import ExecuTorchProgram
from sdk.runtime._program import Method, Program


class ReferenceWarning(UserWarning):
    """Warns that a reference computes the program instead of the backend's device."""


class ReferenceMethod(Method):
    """A method whose delegates a reference computes. It has the state of its program."""

    def __init__(self, program: ReferenceProgram, name: str) -> None:
        self._owner = program
        self._name = name

    def execute(self, inputs: Sequence[Any], *, clone_outputs: bool = True) -> Sequence[Any]:
        """Runs the method and returns its outputs, which are always copies.

        Raises:
            ValueError: the number of inputs, or the shape or dtype of one, is wrong, or the reference does not support
                an operation.
        """
        import numpy as np
        import torch

        given = [torch.from_numpy(each.copy()) if isinstance(each, np.ndarray) else each for each in inputs]
        outputs = self._owner._runner.run_method(self._name, given)
        if not any(isinstance(each, np.ndarray) for each in inputs):
            return list(outputs)
        return [each.numpy() if isinstance(each, torch.Tensor) else each for each in outputs]

    @property
    def metadata(self) -> Any:
        return self._owner.metadata(self._name)


class ReferenceProgram(Program):
    """A program that a backend's runner computes.

    Attributes:
        reference: The name of the backend.
        note: A description of the reference, and of its differences from the device.
    """

    def __init__(self, program: ExecuTorchProgram, source: str | bytes, backend: str) -> None:
        """Raises ValueError if the backend declares no runner, or its runner does not run the program."""
        super().__init__(program, None)
        from sdk.backends import registry

        declared = registry.backend(backend)
        if declared.runner is None:
            known = [found.name for found in registry.backends().values() if found.runner is not None]
            raise ValueError(f"{backend} has no reference; {', '.join(known) or 'no backend'} has")
        self.reference = declared.name
        self.note = declared.runner_note
        run = declared.find("runner")
        if isinstance(source, str):
            self._runner = run(source, None)
        else:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "program.pte"
                path.write_bytes(source)
                self._runner = run(path, None)
        warnings.warn(f"the program is computed by {self.note}", ReferenceWarning, stacklevel=3)

    def load_method(self, name: str) -> ReferenceMethod:
        """A method; the same object for the same name. Raises KeyError as `Program.load_method` does."""
        self._check_name(name)
        method = self._methods.setdefault(name, ReferenceMethod(self, name))
        assert isinstance(method, ReferenceMethod)
        return method
