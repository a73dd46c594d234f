# SPDX-License-Identifier: BSD-3-Clause
"""Shows one line for each stage, with its time, on stderr. On a terminal, it is rewritten in place."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from sdk.devtools.report.export_result import Stage
from sdk.util.words import paint


@dataclass
class Progress:
    """Shows and records the stages of one export."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, detail: str = "") -> Iterator[Stage]:
        """Measures the block. A stage that raises is shown as failed, and the exception is passed on."""
        stage = Stage(name, detail)
        live = self.stream.isatty()
        if live:
            self.stream.write(f"  {paint('…', 'dim', self.stream)} {name:<8} {detail}")
            self.stream.flush()
        start = time.perf_counter()
        mark = paint("✗", "red", self.stream)
        try:
            yield stage
            mark = paint("✓", "green", self.stream)
        finally:
            stage.seconds = time.perf_counter() - start
            self.stages.append(stage)
            taken = paint(f"{stage.seconds:6.1f} s", "dim", self.stream)
            erase = "\r\033[K" if live else ""
            self.stream.write(f"{erase}  {mark} {name:<8} {taken}  {stage.detail}\n")
            self.stream.flush()
