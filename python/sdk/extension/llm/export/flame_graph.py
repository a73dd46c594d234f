# SPDX-License-Identifier: BSD-3-Clause
"""Shows where an export spends its time: samples of the call stack as a flame graph in one HTML page."""

from __future__ import annotations

import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._files import write_atomically
from sdk.util.html_page import html_page

_INTERVAL = 0.005
"""Seconds of processor time between two samples."""
_DEEPEST = 100
"""The number of nested calls that are shown; samples of deeper calls count for the deepest call that is shown."""
_SMALLEST = 0.001
"""A function with a smaller share of the total time is not shown."""
_STYLE = """
body { font: 13px system-ui, sans-serif; margin: 1em; }
.call { overflow: hidden; flex: none; }
.call > p { margin: 0 1px 1px 0; padding: 2px 4px; height: 1.3em; background: #f4b183; border-radius: 2px;
  overflow: hidden; white-space: nowrap; cursor: pointer; }
.call > p:hover { background: #f8cbad; }
.calls { display: flex; }
.hidden { display: none; }
.alone { width: 100% !important; }
"""
_SCRIPT = """
// A click shows a call alone, in the whole width; a click on the first line shows all again.
document.addEventListener("click", (event) => {
  const call = event.target.closest(".call");
  if (!call) return;
  for (const other of document.querySelectorAll(".call")) {
    other.classList.remove("hidden", "alone");
  }
  for (let at = call; at.parentElement.closest(".call"); at = at.parentElement.closest(".call")) {
    at.classList.add("alone");
    for (const sibling of at.parentElement.children) {
      if (sibling !== at) sibling.classList.add("hidden");
    }
  }
});
"""


@dataclass
class Call:
    """A function in the tree of calls, as a child of its caller."""

    seconds: float = 0.0
    """Including the functions that it called."""
    calls: dict[str, Call] = field(default_factory=dict)
    """The functions that it called, by `module.function`."""


class FlameGraph:
    """Samples the stack while its block runs, and writes the page if the block ends without an error.

        with FlameGraph("profile.html", "export_llm"):
            ...

    The processor's timer interrupts the block, which runs at nearly its usual speed. The page needs no other file and
    no network. Raises RuntimeError in another thread than the main one, and on Windows, which has no such timer.
    """

    def __init__(self, path: str | Path, title: str) -> None:
        self.root = Call()
        self._path, self._title = Path(path), title

    def __enter__(self) -> FlameGraph:
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            raise RuntimeError("a flame graph needs the main thread of a process on Linux or macOS")
        self._outer, self._last = sys._getframe(1).f_code, time.perf_counter()
        self._handler = signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self._handler)
        if kind is None:
            write_atomically(self._path, Cord(self.page().encode()))

    def _sample(self, number: int, frame: FrameType | None) -> None:
        """Runs in the block's own thread, so that no frame outlives the call: torch.export searches for tensors that
        are kept alive."""
        now = time.perf_counter()
        _add(self.root, _names(frame, self._outer), now - self._last)
        self._last = now

    def page(self) -> str:
        """The HTML page."""
        body = _html(self._title, self.root, 1.0, self.root.seconds or 1.0)
        return html_page(
            self._title,
            _STYLE,
            f"<h1>{escape(self._title)}</h1>\n<p>The width of a call is its share of the time. Calls are below those "
            f"that made them; a click shows one alone.</p>\n{body}\n<script>{_SCRIPT}</script>",
        )


def _names(frame: FrameType | None, outer: CodeType) -> list[str]:
    """Returns the functions between that of `outer`, which is left out, and a frame's, the outermost first."""
    names: list[str] = []
    while frame is not None and frame.f_code is not outer:
        names.append(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_name}")
        frame = frame.f_back
    return names[::-1][:_DEEPEST]


def _add(call: Call, names: list[str], seconds: float) -> None:
    call.seconds += seconds
    for name in names:
        call = call.calls.setdefault(name, Call())
        call.seconds += seconds


def _html(name: str, call: Call, share: float, whole: float) -> str:
    """A call with those below it. `share`: its part of the caller's width; `whole`: the total time in seconds."""
    shown = sorted(call.calls.items(), key=lambda entry: -entry[1].seconds)
    inside = "".join(
        _html(inner, entry, entry.seconds / call.seconds, whole)
        for inner, entry in shown
        if entry.seconds >= _SMALLEST * whole
    )
    text = f"{escape(name)}: {call.seconds:.2f} s, {100 * call.seconds / whole:.1f} %"
    below = f'<div class="calls">{inside}</div>' if inside else ""
    return f'<div class="call" style="width:{100 * share:.3f}%"><p title="{text}">{text}</p>{below}</div>'
