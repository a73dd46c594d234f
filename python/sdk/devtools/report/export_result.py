# SPDX-License-Identifier: BSD-3-Clause
"""The records of one export for its summary and its report, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

from sdk.devtools.report._receipt import Receipt
from sdk.devtools.report.facts import ProgramFacts
from sdk.util.words import readable_seconds


@dataclass
class Stage:
    """A finished or running stage. `detail`, which is shown after the name, may be set while it runs."""

    name: str
    detail: str = ""
    seconds: float = 0.0


@dataclass
class OutputError:
    """One output: its largest difference, absolute and relative to the output's largest magnitude in eager mode.

    `rounding` is the absolute difference that rounding explains, however large it is relative to the output.
    """

    index: int
    type: str
    max_abs: float
    max_rel: float
    tolerance: float
    call: int = 1  # the call with this difference
    elements: int = 0  # elements of the output in all calls
    compared: int = 0  # elements that are neither NaN nor infinite in eager mode
    rounding: float = 0.0

    @property
    def within(self) -> bool:
        return self.max_rel <= self.tolerance or (self.max_abs <= self.rounding and self.may_be_rounding)

    @property
    def may_be_rounding(self) -> bool:
        """Whether the absolute difference is so small that it may be rounding. It can then exceed the relative
        tolerance only if the output is close to zero, such as the difference of nearly equal numbers."""
        return self.max_abs <= self.tolerance / 100

    def joined(self, other: OutputError) -> OutputError:
        """Joins the results of two calls for the same output: the first difference above the tolerance, or else the
        larger one, and the elements of both calls."""
        worse = other if self.within and (not other.within or other.max_rel > self.max_rel) else self
        return replace(worse, elements=self.elements + other.elements, compared=self.compared + other.compared)


@dataclass
class Comparison:
    """A sequence of calls of a method, in eager mode and in the runtime."""

    method: str
    label: str  # "example", "smallest sizes" or "largest sizes", and how inputs or sorts differ, if they do
    inputs: str
    outputs: list[OutputError]
    seconds: float  # duration of the runtime's first call
    calls: int = 1

    @property
    def worst(self) -> OutputError | None:
        return max(self.outputs, key=lambda o: (not o.within, o.max_rel), default=None)

    @property
    def elements(self) -> int:
        return sum(output.elements for output in self.outputs)

    @property
    def compared(self) -> int:
        return sum(output.compared for output in self.outputs)


@dataclass(frozen=True)
class Accuracy:
    """The program's outputs, compared with those of the model before it was quantised or converted to float16."""

    kind: str
    signal_to_noise: float  # decibels
    largest: float  # the largest difference, relative to the output's largest value

    def __str__(self) -> str:
        noise = "no difference" if self.signal_to_noise == math.inf else f"{self.signal_to_noise:.1f} dB over the noise"
        return (
            f"{self.kind} against float32: {noise}, largest difference {self.largest:.2g} of the output's largest value"
        )


@dataclass(frozen=True)
class Timing:
    """Medians of calls with the example inputs, in seconds of wall-clock time. Both sides use their default number of
    threads."""

    method: str
    program: float
    eager: float

    def __str__(self) -> str:
        return f"{readable_seconds(self.program)} a call; PyTorch eager takes {readable_seconds(self.eager)}"


@dataclass
class ExportResult:
    """One export. Sizes are bytes, times are seconds of wall-clock time."""

    model: str  # as the user named it
    inputs: str  # `float32[1, 8]`, or with several methods `encode: float32[1, 8]; decode: float32[1, 4]`
    dynamic: list[str]  # the dynamic sizes, as the user wrote them
    output: Path
    recipe: str | None
    backends: list[str]
    # the backends, or the recipe, for which the graph was partitioned; None without a partitioner
    offered: list[str] | None
    verify: bool
    facts: ProgramFacts
    receipt: Receipt
    stages: list[Stage]
    notes: list[str]
    warnings: list[str] = field(default_factory=list)  # of PyTorch and of the model's code
    program_bytes: int = 0
    weights: Path | None = None
    weights_file_bytes: int = 0
    comparisons: list[Comparison] = field(default_factory=list)
    accuracies: list[Accuracy] = field(default_factory=list)
    unverified: str = ""  # why the program could not be run
    timings: list[Timing] = field(default_factory=list)
