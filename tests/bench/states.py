# SPDX-License-Identifier: BSD-3-Clause
"""Models with state for engines whose graphs have none: mutable buffers, such as a key-value cache, become inputs and
outputs, which the caller keeps between calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.worker import load_model

INPUT, OUTPUT = "state_", "new_state_"  # beginnings of the names of a graph's inputs and outputs


@dataclass
class Functional:
    """A model whose state is passed.

    Attributes:
        module: Takes the model's inputs and then its state; returns the model's outputs and then the new state.
        inputs: The inputs of the model.
        states: The state before the first call.
    """

    module: Any
    inputs: tuple[Any, ...]
    states: tuple[Any, ...]

    @property
    def arguments(self) -> tuple[Any, ...]:
        return (*self.inputs, *self.states)

    def input_names(self) -> list[str]:
        return [f"input_{i}" for i in range(len(self.inputs))] + [f"{INPUT}{i}" for i in range(len(self.states))]

    def output_names(self, outputs: int) -> list[str]:
        """Returns the names of a graph's outputs. There are `outputs` of them, including states."""
        own = outputs - len(self.states)
        return [f"output_{i}" for i in range(own)] + [f"{OUTPUT}{i}" for i in range(len(self.states))]


def functional(spec: str) -> Functional:
    """Makes the state of the model of `spec` explicit. A model that does not mutate buffers does not change."""
    import torch

    model, inputs = load_model(spec)
    with torch.no_grad():
        # Functionalise first, because otherwise the signature does not list mutations.
        signature = torch.export.export(model, inputs, strict=False).run_decompositions({}).graph_signature
    names = list(signature.buffers_to_mutate.values())
    if not names:
        return Functional(model, inputs, ())
    count = len(names)

    class Stateless(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *arguments: Any) -> Any:
            state = {name: value.clone() for name, value in zip(names, arguments[-count:], strict=True)}
            result = torch.func.functional_call(self.model, state, arguments[:-count])
            return (*(result if isinstance(result, tuple) else (result,)), *state.values())

    buffers = dict(model.named_buffers())
    return Functional(Stateless().eval(), inputs, tuple(buffers[name].clone() for name in names))


def save_states(made: Functional, program: str) -> None:
    """Writes the initial state to a file next to `program`, if there is a state."""
    import numpy as np

    if made.states:
        np.savez(states_file(program), *[state.numpy() for state in made.states])


def states_file(program: str) -> Path:
    return Path(f"{program}.states.npz")


def load_states(program: str) -> list[Any]:
    """The initial state of `program`, as arrays."""
    import numpy as np

    path = states_file(program)
    return list(np.load(path).values()) if path.exists() else []
