# SPDX-License-Identifier: BSD-3-Clause
"""Makes a program from a seed."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from compositions import elements, layers, steps
from compositions.draw import BATCH, LEAST, MOST, Draw

LARGEST_VALUE = 100.0
MOST_ELEMENTS = 20_000
RARELY = {"half": 0.15, "recurrent": 0.3, "accumulator": 0.4, "cache": 0.4, "sort": 0.5, "attention": 0.6}
"""Steps that are too frequent otherwise, each with the probability that a draw of it is used."""

INPUTS = (
    (BATCH, 3, 8, 8),
    (BATCH, 4, 7, 9),
    (BATCH, 16, 6, 4),
    (BATCH, 8, 16),
    (BATCH, 1, 33),
    (BATCH, 7, 24),
    (BATCH, 17),
    (BATCH, 64),
    (BATCH,),
)


@dataclass(frozen=True)
class Family:
    """The elements of random programs.

    Attributes:
        makers: The makers of steps, by name (`steps.MAKERS`).
        inputs: Shapes of inputs.
        most_elements: The most elements of a value.
    """

    makers: Mapping[str, tuple[str, steps.Maker]]
    inputs: tuple[tuple[int, ...], ...]
    most_elements: int


FLOATS = Family(steps.MAKERS, INPUTS, MOST_ELEMENTS)


@dataclass(frozen=True)
class Step:
    """The call of a module with values of the pool; its results are appended to the pool."""

    text: str
    operands: tuple[int, ...]


class Composition(nn.Module):
    """Runs `steps`, and returns the values with the numbers `outputs`."""

    def __init__(self, steps: list[Step], modules: list[nn.Module], outputs: list[int]) -> None:
        super().__init__()
        self.steps, self.calls, self.outputs = steps, nn.ModuleList(modules), outputs

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        values = list(inputs)
        for one, call in zip(self.steps, self.calls, strict=True):
            values += results_of(call(*(values[number] for number in one.operands)))
        return [values[number] for number in self.outputs]


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *operands: Tensor) -> Any:
        return self.function(*operands)


def results_of(result: Any) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else list(result)


@dataclass
class Program:
    """A composition with example inputs."""

    seed: int
    model: Composition
    inputs: tuple[Tensor, ...]

    @property
    def texts(self) -> list[str]:
        """The steps, a line each."""
        return [one.text for one in self.model.steps]

    def inputs_for(self, rows: int, seed: int) -> tuple[Tensor, ...]:
        """Returns other inputs, which have `rows` rows."""
        generator = torch.Generator().manual_seed(seed)
        return tuple(torch.randn(rows, *x.shape[1:], generator=generator) for x in self.inputs)

    def dynamic_shapes(self) -> Any:
        rows = Dim("rows", min=LEAST, max=MOST)
        return {"inputs": tuple({0: rows} for _ in self.inputs)}

    def cut(self, length: int) -> Program:
        """The first `length` steps; all values of the last step are results."""
        values = len(self.inputs)
        counts = [len(names) for names in self._results()]
        start = values + sum(counts[: length - 1])
        outputs = list(range(start, start + counts[length - 1]))
        model = Composition(self.model.steps[:length], list(self.model.calls[:length]), outputs)
        return Program(self.seed, model, self.inputs)

    def _results(self) -> list[list[int]]:
        """Returns, for each step, the indices of its results among all values."""
        found, number = [], len(self.inputs)
        values = list(copy.deepcopy(self.inputs))
        model = copy.deepcopy(self.model)
        with torch.no_grad():
            for one, call in zip(model.steps, model.calls, strict=True):
                made = results_of(call(*(values[operand] for operand in one.operands)))
                values += made
                found.append(list(range(number, number + len(made))))
                number += len(made)
        return found


def kind_of(x: Tensor) -> str:
    return "f" if x.is_floating_point() else "b" if x.dtype == torch.bool else "i"


def make(seed: int, family: Family = FLOATS) -> Program:
    """The program of a seed: 3 to 25 steps on one to three inputs."""
    generator = random.Random(seed)
    torch.manual_seed(seed)
    inputs = tuple(torch.randn(generator.choice(family.inputs)) for _ in range(generator.randint(1, 3)))
    values = list(copy.deepcopy(inputs))
    made: list[Step] = []
    modules: list[nn.Module] = []
    wanted = generator.randint(3, 25)
    for _ in range(wanted * 20):
        if len(made) == wanted:
            break
        name = generator.choice(list(family.makers))
        if generator.random() > RARELY.get(name, 1.0):
            continue
        kinds, maker = family.makers[name]
        operands = [_operand(generator, values, kind) for kind in kinds]
        if None in operands:
            continue
        numbers = tuple(number for number in operands if number is not None)
        draw = Draw(generator)
        module, results = _attempt(draw, maker, [values[number] for number in numbers], family.most_elements)
        if module is None:
            continue
        shapes = ", ".join(f"{list(x.shape)}{'' if kind_of(x) == 'f' else kind_of(x)}" for x in results)
        choices = ", ".join(str(getattr(choice, "__name__", choice)) for choice in draw.choices)
        called = ", ".join(f"v{number}" for number in numbers)
        first = len(values)
        made.append(
            Step(f"v{first}{'...' if len(results) > 1 else ''} = {name}({called}; {choices}) {shapes}", numbers)
        )
        modules.append(module)
        values += results
    used = {number for one in made for number in one.operands}
    outputs = [number for number in range(len(inputs), len(values)) if number not in used][-8:]
    outputs += [generator.randrange(len(values)) for _ in range(generator.randint(0, 2))]
    return Program(seed, Composition(made, modules, outputs), inputs)


def _operand(generator: random.Random, values: list[Tensor], kind: str) -> int | None:
    """The number of a value of a kind. The last values are drawn more often."""
    numbers = [number for number, value in enumerate(values) if kind_of(value) == kind]
    if not numbers:
        return None
    recent = numbers[-3:] if generator.random() < 0.7 else numbers
    return generator.choice(recent)


def _attempt(
    draw: Draw, maker: steps.Maker, operands: list[Tensor], most_elements: int
) -> tuple[nn.Module | None, list[Tensor]]:
    """Returns the step as a module, and its results on the example inputs. The module is None if the step does not
    apply to the operands, or if its results are unusable."""
    try:
        made = maker(draw, *operands)
        if made is None:
            return None, []
        module = made.eval() if isinstance(made, nn.Module) else Function(made)
        with torch.no_grad():
            # First on copies, because a step that raises or gives unusable values must not write to an operand.
            results = results_of(copy.deepcopy(module)(*(x.clone() for x in operands)))
            if not all(_is_usable(x, most_elements) for x in results):
                return None, []
            return module, results_of(copy.deepcopy(module)(*operands))
    except (RuntimeError, IndexError, ValueError, NotImplementedError):
        return None, []


def _is_usable(x: Tensor, most_elements: int) -> bool:
    if not 0 < x.numel() <= most_elements or x.dim() == 0 or x.dim() > 6:
        return False
    return not x.is_floating_point() or bool(x.isfinite().all() and x.abs().max() <= LARGEST_VALUE)


assert elements and layers  # their steps are registered by importing them
