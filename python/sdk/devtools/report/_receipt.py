# SPDX-License-Identifier: BSD-3-Clause
"""`Receipt`: a table of a program's nodes, and of its losses compared with the model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from sdk.devtools.report._model import Loss, LossError, LossKind, Row
from sdk.devtools.report._text import table


@dataclass(frozen=True)
class Receipt:
    """A table of a program's nodes, and its losses."""

    rows: tuple[Row, ...]
    losses: tuple[Loss, ...]
    notes: tuple[str, ...]  # decisions of the compiler that cost time or memory
    arenas: dict[str, dict[int, int]]  # method -> memory id -> bytes
    kernels_checked: bool  # False if the runtime of this package is not built
    newer_operators: tuple[str, ...]  # operators of the program for which ExecuTorch 1.4 has no kernels

    @property
    def methods(self) -> list[str]:
        return list(self.arenas)

    @property
    def loadable_by_executorch(self) -> bool:
        """Whether the kernels of ExecuTorch 1.4 include every operator of the program."""
        return not self.newer_operators

    def of(self, method: str = "forward") -> list[Row]:
        """The rows of one method."""
        return [row for row in self.rows if row.method == method]

    def raise_for_losses(self, allow: Collection[LossKind | str] = ()) -> None:
        """Raises LossError if there are losses of kinds that are not in `allow`. If the kernels could not be checked,
        that counts as missing kernels."""
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
        """A table for each method, then the losses, then the compiler's notes."""
        parts = []
        for method in self.methods:
            arena = sum(self.arenas[method].values())
            parts.append(f"method {method}: {arena} bytes of planned memory")
            parts += table(self.of(method))
            parts.append("")
        if self.losses:
            parts.append("lost:")
            parts += [f"  {loss}" for loss in self.losses]
        else:
            parts.append("nothing is lost")
        if not self.kernels_checked:
            parts.append("whether every operator has a kernel was not checked: the runtime is not built")
        if self.newer_operators:
            parts.append(f"not in ExecuTorch 1.4: {', '.join(self.newer_operators)}")
        parts += [f"note: {note}" for note in self.notes]
        return "\n".join(parts)
