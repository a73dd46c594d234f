# SPDX-License-Identifier: BSD-3-Clause
"""What a receipt consists of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from sdk.exir.error import ExportError, ExportErrorType


class LossKind(str, Enum):
    """What can get lost on the way from a model to its program."""

    FALLBACK = "fallback"
    """An operator that was offered to a backend runs on a kernel."""

    MISSING_KERNEL = "missing kernel"
    """An operator that the runtime has no kernel for: it refuses to load the program."""

    DROPPED_TAG = "dropped tag"
    """A weight that was marked for a file of its own is stored elsewhere."""

    INITIAL_VALUE = "initial value"
    """A buffer that starts at zero instead of its value."""

    DOWNCAST = "downcast"
    """An input, an output or a weight with another dtype than in the model."""

    UNPLANNED = "unplanned tensor"
    """A tensor that has no place in memory."""


@dataclass(frozen=True)
class Loss:
    """One thing that the program does not keep."""

    kind: LossKind
    method: str
    what: str  # a sentence
    node: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.what}"


class MissingKernelWarning(UserWarning):
    """A program is written that the runtime of this package cannot load, because it has no kernel of an operator."""


class LossError(ExportError):
    """Raised with `strict` where something would be lost. `losses` has them one by one."""

    def __init__(self, losses: Collection[Loss]) -> None:
        listed = "\n".join(f"  - {loss}" for loss in losses)
        super().__init__(
            ExportErrorType.NOT_SUPPORTED, f"With strict=True nothing may be lost, and there is:\n{listed}"
        )
        self.losses = tuple(losses)


@dataclass(frozen=True)
class Value:
    """A tensor or number that a node makes."""

    dtype: str  # float32, or int, float, bool for a number
    shape: tuple[str, ...] | None  # sizes, "1..16" for one that varies; None for a number
    nbytes: int  # at the largest sizes
    planned_bytes: int  # what it occupies of the arena by itself: 0 where it shares or is stored elsewhere
    memory_id: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        return self.dtype if self.shape is None else f"{self.dtype}[{', '.join(self.shape)}]"


@dataclass(frozen=True)
class Row:
    """A node of the program."""

    method: str
    node: str
    operator: str  # aten::add.out; for what is no operator: input, weight, buffer, view, delegate
    where: str  # "portable", a backend, "runtime" (control flow, symbolic sizes), or where a value is stored
    values: tuple[Value, ...]
    refusals: dict[str, str] = field(default_factory=dict)  # backend -> why it did not take the node; "": did not say
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


@dataclass(frozen=True)
class Receipt:
    """The table of a program, and what it does not keep."""

    rows: tuple[Row, ...]
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]  # what the compiler did that costs time or memory
    arenas: dict[str, dict[int, int]]  # method -> memory id -> bytes
    kernels_checked: bool  # False where the runtime of this package is not built
    newer_operators: tuple[str, ...]  # operators of the program that ExecuTorch 1.4 has no kernels for

    @property
    def methods(self) -> list[str]:
        return list(self.arenas)

    @property
    def loadable_by_executorch(self) -> bool:
        """Whether ExecuTorch 1.4 with its own kernels has every operator of the program."""
        return not self.newer_operators

    def of(self, method: str = "forward") -> list[Row]:
        """The rows of one method."""
        return [row for row in self.rows if row.method == method]

    def raise_for_losses(self, allow: Collection[LossKind | str] = ()) -> None:
        """Raises LossError if there are losses of other kinds than those in `allow`. A program whose operators could
        not be looked up counts as one without kernels."""
        allowed = {LossKind(kind) for kind in allow}
        losses = [loss for loss in self.losses if loss.kind not in allowed]
        if not self.kernels_checked and LossKind.MISSING_KERNEL not in allowed:
            what = (
                "whether every operator has a kernel could not be checked, because this package was installed without "
                "its runtime"
            )
            losses.append(Loss(LossKind.MISSING_KERNEL, "", what))
        if losses:
            raise LossError(losses)

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain data, for JSON. Sizes are bytes."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "losses": [{**asdict(loss), "kind": loss.kind.value} for loss in self.losses],
            "notes": list(self.notes),
            "arena_bytes": {m: {str(i): size for i, size in arena.items()} for m, arena in self.arenas.items()},
            "kernels_checked": self.kernels_checked,
            "loadable_by_executorch_1_4": self.loadable_by_executorch,
            "newer_operators": list(self.newer_operators),
        }

    def __str__(self) -> str:
        from sdk.exir.receipt._text import receipt_text

        return receipt_text(self)
