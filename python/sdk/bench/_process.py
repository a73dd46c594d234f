# SPDX-License-Identifier: BSD-3-Clause
"""Starts a process in which one program runs, and sends it requests."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from sdk.command import CommandError


@dataclass(frozen=True)
class Subject:
    """A program to measure: its name in the output, its files, the method, and the file that lists the inputs."""

    name: str
    program: Path
    data: Sequence[Path]
    method: str
    inputs: Path


class Process:
    """A fresh process. Use it in a `with` statement, which terminates it."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        command = [sys.executable, "-m", "sdk.bench._worker"]
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - a pipe could fill up
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True
        )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()
        self._said.close()

    def start(self, cold: bool, threads: int | None) -> dict[str, Any]:
        """Starts the program; see `_worker.Worker.start`."""
        subject = self._subject
        return self._ask(
            "start",
            program=str(subject.program),
            data=[str(path) for path in subject.data],
            method=subject.method,
            inputs=str(subject.inputs),
            cold=cold,
            threads=threads,
        )

    def measure(self, seconds: float, warm_up: float = 0.0, batch: int | None = None) -> dict[str, Any]:
        """Calls the program for some time; see `_worker.Worker.measure`."""
        return self._ask("measure", seconds=seconds, warm_up=warm_up, batch=batch)

    def memory(self) -> int | None:
        """Bytes in addition to the memory of the process before the program was loaded; None if the system does not
        say."""
        found: int | None = self._ask("memory")["bytes"]
        return found

    def _ask(self, what: str, **arguments: Any) -> dict[str, Any]:
        """Raises CommandError if the process fails or exits."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            self._said.seek(0)
            said = self._said.read().strip().splitlines()
            raise CommandError(
                f"`{self._subject.name}`: the process that ran it ended with the status {status}: "
                f"{said[-1] if said else 'it said nothing'}"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise CommandError(f"`{self._subject.name}` cannot be measured: {answer['error']}")
        return answer
