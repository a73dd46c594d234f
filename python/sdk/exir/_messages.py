# SPDX-License-Identifier: BSD-3-Clause
"""Context of errors: the pass that failed, the node, and the line of the user's code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch.fx import Node

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>[^\n]+)\n\s*(?P<code>[^\n]*)')
_ADVICE = "To see the graph that the pass was given, put sdk.exir.passes.DebugPass() in front of it."
_ADVICE_OWN = (
    "The pass is the exporter's own: if the message does not say what to change in the model, that is a defect of the "
    "exporter: please report it with this text."
)
TORCH_FOLDER = f"{Path(torch.__file__).parent}{os.sep}"
"""The start of the path of each file of PyTorch, and of no file of torchvision or torchao beside it."""


def user_frame(node: object) -> dict[str, str] | None:
    """Returns the place in the user's code that a node comes from: `file`, `line`, `function` and `code`. None if
    unknown."""
    trace = node.meta.get("stack_trace") if isinstance(node, Node) else None
    frames = list(_FRAME.finditer(trace)) if trace else []
    # Frames of PyTorch, and of code that it generates for control flow, do not help the user.
    users = [f for f in frames if not f["file"].startswith((TORCH_FOLDER, "<"))]
    return (users or frames)[-1].groupdict() if frames else None


def source_of(node: object) -> str:
    """Returns the place of `user_frame` as a line to append to a message; empty if it is unknown."""
    last = user_frame(node)
    if last is None:
        return ""
    return f'\n{node} comes from: File "{last["file"]}", line {last["line"]}, in {last["function"]}: {last["code"]}'


def add_context(error: BaseException, text: str) -> None:
    """Adds a paragraph below an error's message, unless it is there already."""
    if hasattr(error, "add_note"):
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)
    elif error.args and isinstance(error.args[0], str) and text not in error.args[0]:  # Python 3.10 has no notes.
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])


def full_message(error: BaseException) -> str:
    """The message of an error with the paragraphs that were added."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def pass_name(fn: Any) -> str:
    """The name of a pass in messages."""
    return getattr(fn, "__name__", None) or type(fn).__name__


def describe_node(node: Node) -> str:
    """A node with its operator, arguments and result: `aten_add_tensor = aten.add.Tensor(x, y) -> float32[2, 3]`."""
    if node.op != "call_function":
        return f"{node.name} ({node.op})"
    arguments = ", ".join([*map(str, node.args), *(f"{k}={v}" for k, v in node.kwargs.items())])
    val = node.meta.get("val")
    result = f" -> {describe_value(val)}" if isinstance(val, torch.Tensor) else ""
    return f"{node.name} = {operator_name(node.target)}({arguments}){result}"


def operator_name(target: Any) -> str:
    """`aten.add.Tensor` for an operator of any dialect."""
    return str(target) if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", str(target))


def describe_value(value: Any) -> str:
    """A tensor as `float32[2, 3]`, a list of them in brackets, anything else as it prints."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(describe_value, value))}]"
    return str(value)


def explain_failed_pass(error: BaseException, fn: Any, passes: list[Any]) -> None:
    """Adds to an error the pass that failed, the node, and the line of the model that the node comes from. The
    innermost pass is the one that failed; those around it only add their position in `passes`."""
    if getattr(error, "_failed_pass", None) is None:
        node = getattr(error, "_failed_node", None) or _node_in(error.__traceback__)
        where = f", at the node\n  {describe_node(node)}{source_of(node)}" if node is not None else "."
        advice = _ADVICE_OWN if _is_ours(fn) else _ADVICE
        add_context(error, f"This happened in the pass {pass_name(fn)}{where}\n{advice}")
        with suppress(AttributeError):
            error._failed_pass = fn  # type: ignore[attr-defined]
    if len(passes) > 1:
        names = [pass_name(p) for p in passes]
        at = next((i for i, p in enumerate(passes) if p is fn), 0)
        add_context(error, f"It was pass number {at + 1} of {len(names)}: {', '.join(names)}.")


def remember_node(error: BaseException, node: Node) -> None:
    """Records the node that an error is about, for `explain_failed_pass`; a second call has no effect."""
    if getattr(error, "_failed_node", None) is None:
        with suppress(AttributeError):
            error._failed_node = node  # type: ignore[attr-defined]


def _is_ours(fn: Any) -> bool:
    return (getattr(fn, "__module__", None) or "").startswith("sdk.exir.")


def _node_in(traceback: TracebackType | None) -> Node | None:
    """The node that a pass was handling when it failed: the variable `node`, `n` or `user` of the innermost frame
    that has one, or the interpreter's current node.
    """
    found: Node | None = None
    for local in _locals(traceback):
        for name in ("node", "n", "user"):
            value = local.get(name)
            if isinstance(value, Node):
                found = value
                break
        else:
            current = getattr(local.get("self"), "node", None)
            found = current if isinstance(current, Node) else found
    return found


def _locals(traceback: TracebackType | None) -> Iterator[dict[str, Any]]:
    while traceback is not None:
        yield traceback.tb_frame.f_locals
        traceback = traceback.tb_next
