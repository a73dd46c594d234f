# SPDX-License-Identifier: BSD-3-Clause
"""docs/generated/backend-operators.md: which backend has which operator, from the tables that the declarations name."""

from __future__ import annotations

from pathlib import Path

from sdk.backends.registry import backends

PAGE = Path(__file__).resolve().parents[1] / "docs" / "generated" / "backend-operators.md"
DIALECT = ("aten.", "dim_order_ops.", "quantized_decomposed.")
"""The namespaces of the edge dialect. A table may have other operators, which a backend fuses from several calls."""

HEAD = """# Operators of the backends

Which operators of the edge dialect each backend has, from the tables that the declarations of the backends name
(`operators`). `scripts/pages` writes this page. A backend may still refuse a call, and the summary of an export then
has the reason; the [conformance of the backends](conformance.md) shows what they computed.

"""


def page() -> str:
    """The text of the page."""
    tables = {name: set(backend.find("operators")) for name, backend in backends().items() if backend.operators}
    names = sorted({name for table in tables.values() for name in table if name.startswith(DIALECT)})
    lines = [f"| operator | {' | '.join(tables)} |", "|---" * (len(tables) + 1) + "|"]
    for name in names:
        lines.append(f"| `{name}` | {' | '.join('yes' if name in table else '' for table in tables.values())} |")
    counts = [sum(name in table for name in names) for table in tables.values()]
    lines.append(f"| **{len(names)} operators** | {' | '.join(map(str, counts))} |")
    return HEAD + "\n".join(lines) + "\n"
