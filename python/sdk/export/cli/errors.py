# SPDX-License-Identifier: BSD-3-Clause
"""The exception that the command prints as a paragraph, and helpers for its message."""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from sdk.extras import install_hint
from sdk.util.words import similar


class CommandError(Exception):
    """An error that the user can correct: the message says what was expected, what was found and what to do."""


def closest(wrong: str, known: Iterable[str]) -> str:
    """The end of a sentence that proposes what `wrong` may have meant: "", or " Did you mean `...`?"."""
    meant = similar(wrong, known)
    return f" Did you mean `{meant}`?" if meant else ""


def closest_option(message: str, known: Iterable[str]) -> str:
    """Returns a suggestion for argparse's message about an unknown option; "" for its other messages."""
    words = message.removeprefix("unrecognized arguments: ").split() if message.startswith("unrecognized") else []
    wrong = next((word for word in words if word.startswith("-")), "")
    return closest(wrong.partition("=")[0], known)


# Lines that torch appends to every message. They advise on debugging torch, not the model.
_ADVICE = (
    "Caused by: (",
    "Developer debug context",
    "For C++ ",
    "For extended ",
    "For more ",
    "If you suspect ",
    "Set TORCHDYNAMO_VERBOSE",
    "The error above ",
    "consider using data-dependent friendly APIs",
)


def first_lines(error: BaseException, count: int = 6) -> str:
    """The start of an exception's message, and the notes that were added to it (which pass, which method). The rest of
    a compiler's message is shown only with `-v`."""
    lines = _lines(str(error))[: None if hasattr(error, "calls") else count]  # RefusedCallsError lists every call
    for note in getattr(error, "__notes__", ()):
        lines += [line for line in _lines(note)[:count] if line not in lines]
    if isinstance(error, ModuleNotFoundError) and (hint := install_hint(error)):
        lines.append(f"This {hint}")
    return "\n".join(lines) or type(error).__name__


def with_type(error: BaseException, count: int) -> str:
    """`ValueError: ...`: the type, and the first lines of the message if there is one."""
    lines = first_lines(error, count)
    return lines if lines == type(error).__name__ else f"{type(error).__name__}: {lines}"


def failed(what: str, error: BaseException) -> CommandError:
    """An error in the user's code: the exception, and the line that raised it."""
    line = user_line(error)
    at = f"\n  {line}" if line else ""
    return CommandError(f"{what} failed: {with_type(error, 3)}{at}")


# After one of these lines, torch repeats the line of the user's code, which `user_line` gives.
_PLACES = ("\nThe following call raised this error:", "\nfrom user code:")


def _lines(text: str) -> list[str]:
    for place in _PLACES:
        text = text.partition(place)[0]
    return [line.rstrip() for line in text.splitlines() if line.strip() and not line.strip().startswith(_ADVICE)]


def user_line(error: BaseException) -> str | None:
    """The innermost line of the user's code in the traceback of `error`, as `file:line: in function: code`, or
    None.

    The user's code is all code outside installed packages, the standard library and this package.
    """
    found: traceback.FrameSummary | None = None
    for frame in _frames(error):
        if _is_users(frame.filename):
            found = frame
    if found is None:
        return None
    source = (found.line or linecache.getline(found.filename, found.lineno or 0)).strip()
    return f"{_shown(found.filename)}:{found.lineno}: in {found.name}: {source}"


def _frames(error: BaseException) -> Iterable[traceback.FrameSummary]:
    seen: set[int] = set()
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        chain.append(current)
        current = current.__cause__ or current.__context__
    for link in chain:
        # torch's strict tracer has the traced code's stack in an attribute of the exception, not in its traceback.
        yield from getattr(link, "real_stack", None) or ()
        tb: TracebackType | None = link.__traceback__
        yield from traceback.extract_tb(tb)


def _is_users(filename: str) -> bool:
    if filename.startswith("<"):
        return False
    path = Path(filename).resolve()
    if {"site-packages", "dist-packages"} & set(path.parts):
        return False
    others = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), Path(__file__).parents[2])
    return not any(path.is_relative_to(Path(other).resolve()) for other in others)


def _shown(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else filename
