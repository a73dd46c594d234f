# SPDX-License-Identifier: BSD-3-Clause
"""A receipt for the terminal."""

from __future__ import annotations

from sdk.exir.receipt._model import Receipt, Row

_HEAD = ("node", "operator", "where", "makes", "planned", "from")


def receipt_text(receipt: Receipt) -> str:
    """A table a method, then what was lost, then what the compiler noted."""
    parts = []
    for method in receipt.methods:
        arena = sum(receipt.arenas[method].values())
        parts.append(f"method {method}: {arena} bytes of planned memory")
        parts += _table(receipt.of(method))
        parts.append("")
    if receipt.losses:
        parts.append("lost:")
        parts += [f"  {loss}" for loss in receipt.losses]
    else:
        parts.append("nothing is lost")
    if not receipt.kernels_checked:
        parts.append("whether every operator has a kernel was not checked: the runtime is not built")
    if receipt.newer_operators:
        parts.append(f"not in ExecuTorch 1.4: {', '.join(receipt.newer_operators)}")
    parts += [f"note: {note}" for note in receipt.notes]
    return "\n".join(parts)


def _table(rows: list[Row]) -> list[str]:
    cells = [
        (
            row.node,
            row.operator,
            row.where,
            ", ".join(str(value) for value in row.values),
            str(row.planned_bytes) if any(value.memory_id is not None for value in row.values) else "",
            row.source,
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in [_HEAD, *cells]) for i in range(len(_HEAD))]
    lines = []
    for line, row in zip([_HEAD, *cells], [None, *rows], strict=True):
        text = "  ".join(
            cell.rjust(w) if i == 4 else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        lines.append(f"  {text}".rstrip())
        if row is not None and row.refusals:
            lines.append(f"      not elsewhere: {row.why}")
    return lines
