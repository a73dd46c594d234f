# SPDX-License-Identifier: BSD-3-Clause
"""The list of operators of docs/backends-vulkan.md, from the registry."""

from __future__ import annotations

from pathlib import Path

from sdk.backends.vulkan.op_registry import NOT_DELEGATED, vulkan_supported_ops

PAGE = Path(__file__).resolve().parents[3] / "docs/backends-vulkan.md"
BEGIN, END = "<!-- operators: begin -->\n", "<!-- operators: end -->\n"


def table() -> str:
    """Returns the list in the form of the page."""
    lines = ["| namespace | operators |", "|---|---|"]
    for ours in (False, True):
        names: dict[str, list[str]] = {}
        for name, features in vulkan_supported_ops.items():
            if features.ours is ours and name not in NOT_DELEGATED:
                namespace, _, rest = name.partition(".") if name.count(".") == 2 else ("symbolic integers", "", name)
                names.setdefault(namespace, []).append(rest.removesuffix(".default"))
        for namespace in sorted(names):
            where = f"{namespace}, not in the original" if ours else namespace
            lines.append(f"| {where} | {', '.join(f'`{name}`' for name in sorted(names[namespace]))} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the current list."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]
