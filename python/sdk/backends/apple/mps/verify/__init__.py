# SPDX-License-Identifier: BSD-3-Clause
"""Runs payloads for MPS in PyTorch, without Apple's systems. The results are a reference; Apple's arithmetic differs.

    from sdk.backends.apple.mps.verify import MPSProgram, run

    outputs = run(payload, [torch.ones(1, 3)])

`python -m sdk.export --backend mps` verifies programs with this reference.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sdk.backends.apple.mps.serialization.mps_graph_serialize import PayloadError, read_mps_graph
from sdk.backends.apple.mps.verify.interpreter import Interpreter, MPSExecutionError

__all__ = ["MPSExecutionError", "MPSProgram", "PayloadError", "run"]


class MPSProgram:
    """The program of a payload."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    @classmethod
    def from_payload(cls, payload: bytes | memoryview) -> MPSProgram:
        """The program of a delegate's payload.

        Raises:
            PayloadError: the payload is damaged, of another format, or its shapes and dtypes do not fit.
        """
        return cls(Interpreter(*read_mps_graph(payload)))

    def input_count(self, method_name: str = "forward") -> int:
        """The number of inputs."""
        return len(self._interpreter.inputs)

    def operations(self) -> dict[str, int]:
        """Counts the calls of each operation."""
        counts: dict[str, int] = {}
        for node in self._interpreter.graph.mps_nodes:
            name = type(node.mpsnode_union).__name__
            counts[name] = counts.get(name, 0) + 1
        return dict(sorted(counts.items()))

    def run(self, method_name: str, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Runs the payload and returns the outputs as separate tensors. `method_name` is ignored, because a payload has
        one function.

        Raises:
            ValueError: there are too few or too many inputs, or one has another shape or dtype.
            MPSExecutionError: an index is out of range.
        """
        return self._interpreter.run(inputs)


def run(payload: bytes | memoryview, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The outputs of a payload: see `MPSProgram`."""
    return MPSProgram.from_payload(payload).run("forward", inputs)
