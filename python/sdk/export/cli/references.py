# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's outputs, which the program's outputs are compared with: a sequence of calls for each set of sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from sdk.exir._messages import user_frame
from sdk.export.cli.clock import ClockReads, note_of
from sdk.export.cli.dynamic import DynamicShapes, Sizes, resized, resized_bytes
from sdk.export.cli.errors import CommandError
from sdk.export.cli.fresh import fresh
from sdk.export.cli.lowering import eager
from sdk.export.cli.specs import InputSpec
from sdk.export.cli.verify import differences
from sdk.export.example_inputs import ExampleInputs
from sdk.util.words import readable_bytes

CALLS = 3
"""The number of calls in a sequence. Several calls show the state that a model keeps from one call to the next. The
last call has other values: with the example alone, a model that compares its input with that of the previous call would
always return zeros."""
LARGEST_INPUTS = 256_000_000  # bytes; sizes whose inputs take more are not verified
EXAMPLE = "example"
STATE = (
    "If the model changes something when it runs, keep that in a buffer (register_buffer): a program keeps the values "
    "of buffers from one call to the next."
)


@dataclass(frozen=True)
class Reference:
    """PyTorch's outputs for a sequence of calls of a method.

    Attributes:
        method: The name of the method.
        label: `example`, or the sizes in the calls (`smallest sizes`, `largest sizes`), and how inputs or sorts differ,
            if they do.
        calls: The inputs.
        answers: The outputs of each call.
        module: The module that computed them.
        unquantized: The outputs before the model was quantised, if it was.
    """

    method: str
    label: str
    calls: list[ExampleInputs]
    answers: list[Any]
    module: torch.nn.Module
    unquantized: list[Any] | None = None

    def varies(self, tolerance: float | None) -> bool:
        """Whether PyTorch gives other outputs when it runs the same calls again."""
        try:
            again = eager(self.module, self.calls)
        except Exception:  # torch.export's trace changed the model
            return False
        return any(
            not output.within
            for expected, actual in zip(self.answers, again, strict=True)
            for output in differences(expected, pytree.tree_leaves(actual), tolerance)
        )


def references(
    module: torch.nn.Module,
    method: str,
    inputs: ExampleInputs,
    dynamic: DynamicShapes,
    specs: Sequence[InputSpec],
    notes: list[str],
) -> list[Reference]:
    """The references of a method: for its example, and for random inputs of both ends of its dynamic sizes. `specs`
    describe the inputs that `--input` gave.

    Raises:
        CommandError: the model fails.
    """
    found = [_example(module, method, inputs, specs, notes)]
    for label, sizes in dynamic.ends():
        if resized_bytes(inputs, sizes) > LARGEST_INPUTS:
            limit = readable_bytes(LARGEST_INPUTS)
            notes.append(f"The {label} were not verified: their inputs would take more than {limit}.")
            continue
        generator = torch.Generator().manual_seed(1)
        calls = [fresh(inputs, sizes, specs, generator) for _ in range(CALLS)]
        try:
            found.append(Reference(method, label, calls, eager(module, calls), module))
            continue
        except CommandError:
            pass  # The model may take some values only.
        calls = [resized(inputs, sizes)] * CALLS
        try:
            found.append(Reference(method, f"{label}, the example repeated", calls, eager(module, calls), module))
        except CommandError as error:
            raise CommandError(f"The model does not accept the {label} of --dynamic. {error}") from error
    return found


def _example(
    module: torch.nn.Module, method: str, inputs: ExampleInputs, specs: Sequence[InputSpec], notes: list[str]
) -> Reference:
    other = fresh(inputs, _own_sizes(inputs), specs, torch.Generator().manual_seed(1))
    for last in (other, inputs):  # the model may take some values only
        calls = [*[inputs] * (CALLS - 1), last]
        try:
            with ClockReads() as clock:
                answers = eager(module, calls)
            if clock.places:
                notes.append(note_of(method, clock.places))
            return Reference(method, EXAMPLE, calls, answers, module)
        except CommandError as error:
            reason = str(error).partition("\n")[0]
    once = Reference(method, EXAMPLE, [inputs], eager(module, [inputs]), module)
    notes.append(f"One call of {method} was verified, because another one after it fails: {reason}")
    return once


def _own_sizes(inputs: ExampleInputs) -> Sizes:
    tensors = ((i, leaf) for i, leaf in enumerate(inputs.leaves()) if isinstance(leaf, torch.Tensor))
    return {(index, dim): size for index, tensor in tensors for dim, size in enumerate(tensor.shape)}


def quantized(found: Sequence[Reference], programs: dict[str, ExportedProgram], notes: list[str]) -> list[Reference]:
    """Replaces the outputs by those of the quantised model, which the program must match.

    Raises:
        CommandError: the quantised model fails, or does not keep the model's state from one call to the next.
    """
    made = []
    for reference in found:
        program = programs[reference.method]
        module = program.module()
        answers = eager(module, reference.calls)
        if reference.label == EXAMPLE and _changes(reference.answers) and not _changes(answers):
            lost = f"The quantised model's outputs are equal in all calls of {reference.method}, unlike the original's."
            if not program.graph_signature.buffers_to_mutate:
                raise CommandError(f"{lost} {STATE}")
            notes.append(f"{lost} Calibrate it with as many calls in sequence as the application makes.")
        made.append(replace(reference, answers=answers, module=module, unquantized=reference.answers))
    return made


def _changes(answers: Sequence[Any]) -> bool:
    """Whether the calls with the example, all but the last one, gave different outputs."""
    first, *others = answers[: CALLS - 1]
    return any(not output.within for other in others for output in differences(first, pytree.tree_leaves(other), None))


def random_calls(program: ExportedProgram | None) -> list[str]:
    """`aten.randn.default (net.py:7)`: the operators of a program that draw random numbers, with their lines."""
    return list(dict.fromkeys(_random_calls(program.graph_module))) if program is not None else []


def _random_calls(graph_module: torch.nn.Module) -> Iterator[str]:
    for module in graph_module.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            tags = getattr(node.target, "tags", ())
            if torch.Tag.nondeterministic_seeded in tags:
                place = user_frame(node)
                yield f"{node.target} ({place['file']}:{place['line']})" if place else str(node.target)
