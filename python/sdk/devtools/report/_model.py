# SPDX-License-Identifier: BSD-3-Clause
"""The lines of a receipt: nodes and losses."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum

from sdk.exir.error import ExportError, ExportErrorType


class LossKind(str, Enum):
    """The kinds of losses between a model and its program."""

    FALLBACK = "fallback"
    """An operator that a backend could have run runs on a kernel."""

    MISSING_KERNEL = "missing kernel"
    """An operator without a kernel in the runtime, which therefore refuses to load the program."""

    DROPPED_TAG = "dropped tag"
    """A weight that was marked for a separate file is stored elsewhere."""

    INITIAL_VALUE = "initial value"
    """A buffer that starts at zero instead of its value."""

    DOWNCAST = "downcast"
    """An input, an output or a weight with another dtype than in the model."""

    IGNORED_OPTION = "ignored option"
    """An option that the backend does not support."""

    UNPLANNED = "unplanned tensor"
    """A tensor without planned memory."""


@dataclass(frozen=True)
class Loss:
    """A single loss."""

    kind: LossKind
    method: str
    what: str  # a sentence
    node: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.what}"


class MissingKernelWarning(UserWarning):
    """This package's runtime cannot load the program that is written, because it lacks a kernel for an operator."""


class LossError(ExportError):
    """Raised with `strict` if something would be lost. `losses` has those that were not allowed."""

    def __init__(self, losses: Collection[Loss]) -> None:
        listed = "\n".join(f"  - {loss}" for loss in losses)
        super().__init__(ExportErrorType.NOT_SUPPORTED, f"strict=True refuses these losses:\n{listed}")
        self.losses = tuple(losses)


@dataclass(frozen=True)
class Value:
    """A tensor or number that a node computes."""

    dtype: str  # float32, or int, float, bool for a number
    shape: tuple[str, ...] | None  # sizes, "1..16" for one that varies; None for a number
    nbytes: int  # at the largest sizes
    planned_bytes: int  # its own part of the arena in bytes: 0 if it shares memory or is stored elsewhere
    memory_id: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        return self.dtype if self.shape is None else f"{self.dtype}[{', '.join(self.shape)}]"


@dataclass(frozen=True)
class Row:
    """A node of the program."""

    method: str
    node: str
    operator: str  # aten::add.out, or one of: input, weight, buffer, view, delegate
    # "portable", a backend, "runtime" (control flow, symbolic sizes), "shares memory" for what needs no instruction, or
    # where a value is stored
    where: str
    values: tuple[Value, ...]
    # backend -> why it did not take the node; "" if it gave no reason
    refusals: dict[str, str] = field(default_factory=dict)
    module: str = ""  # layers.0.attention
    source: str = ""  # model.py:12

    @property
    def planned_bytes(self) -> int:
        return sum(value.planned_bytes for value in self.values)

    @property
    def why(self) -> str:
        """The refusals as text."""
        said = (f"{b}: {reason}" if reason else f"{b} did not say why" for b, reason in self.refusals.items())
        return "; ".join(said)


PORTABLE = "portable"
RUNTIME = "runtime"
SHARED = "shares memory"
