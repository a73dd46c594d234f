# SPDX-License-Identifier: BSD-3-Clause
"""A picture of a program's memory plan: which tensor occupies which bytes, and when."""

from __future__ import annotations

import os
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from sdk.devtools.report.facts import program_facts
from sdk.devtools.report.plan_picture import plan_picture
from sdk.exir._serialize._files import write_atomically
from sdk.util.html_page import html_page
from sdk.util.words import readable_bytes

if TYPE_CHECKING:
    from sdk.exir import ExecutorchProgramManager


def write_memory_plan_page(
    executorch_program_manager: ExecutorchProgramManager,
    html_filename: str | os.PathLike[str],
    method_name: str | None = None,
) -> None:
    """Writes an HTML page, which needs nothing else, with one drawing for each arena.

    Time goes from left to right, one step for each instruction, and bytes go from the bottom up. A box is a tensor.
    Pointing at it shows its type, its size and the operator that wrote it.

    Arguments:
        executorch_program_manager: what `to_executorch()` has returned.
        html_filename: the file to write.
        method_name: the method to draw; None for all of them.

    Raises:
        ValueError: the program has no such method.
    """
    methods = program_facts(executorch_program_manager.executorch_program).methods
    if method_name is not None:
        if method_name not in {method.name for method in methods}:
            raise ValueError(f"the program has no method {method_name!r}; it has {sorted(m.name for m in methods)}")
        methods = [method for method in methods if method.name == method_name]
    body = []
    for method in methods:
        body.append(f"<h2>Method <code>{escape(method.name)}</code></h2>")
        for memory_id, size in method.arenas.items():
            tensors = [tensor for tensor in method.tensors if tensor.memory_id == memory_id]
            body.append(f"<p>Arena {memory_id}: {len(tensors)} tensors in {readable_bytes(size)}</p>")
            body.append(plan_picture(tensors, size, method.instructions))
    style = resources.files("sdk.devtools.report").joinpath("page.css").read_text(encoding="utf-8")
    page = html_page("Memory plan", style, "<h1>Memory plan</h1>\n" + "\n".join(body))
    write_atomically(Path(html_filename), page)
