# SPDX-License-Identifier: BSD-3-Clause
"""The original in a separate process, for many programs at once."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "interop/oracle.py"
SECONDS = 180
"""The time after which a program counts as hanging. The time of the first program includes importing the original."""


class Original:
    """Runs `interop/oracle.py` on files of a folder.

    Args:
        python: The Python of the original's environment.
        folder: Where the files are.
    """

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        self._logs: dict[str, str] = {}

    def __call__(self, commands: str, names: list[str]) -> None:
        """Runs the programs. Those that fail or end the process leave a file NAME.error.txt, the others outputs."""
        while left := [name for name in names if not self._has_ended(name)]:
            if ended := self._run(commands, left):
                culprit = next((name for name in left if not self._has_ended(name)), None)
                if culprit is None:
                    return
                (self.folder / f"{culprit}.error.txt").write_text(ended)

    def error(self, name: str) -> str:
        """Returns the error of `name`: the end of its runtime's log, then its last line; empty if it did not fail."""
        file = self.folder / f"{name}.error.txt"
        if not file.exists():
            return ""
        logged = re.findall(r"\[(\w+\.cpp:\d+\] .*)", self._logs.get(name, ""))
        return " | ".join([*logged[-2:], file.read_text().strip().splitlines()[-1]])

    def _run(self, commands: str, names: list[str]) -> str:
        """Returns why the process did not finish; empty if it did."""
        command = [self.python, "-B", "-W", "ignore", SCRIPT, commands, self.folder, *names]
        with (self.folder / "log.txt").open("w+b") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
            done = -1
            while True:
                try:
                    status = process.wait(SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    now = sum(map(self._has_ended, names))
                    if now == done:
                        process.kill()
                        process.wait()
                        return f"the process hangs: no result in {SECONDS} s"
                    done = now
            log.seek(0)
            text = log.read().decode(errors="replace")
        for part in text.split("\n== ")[1:]:
            name, _, said = part.partition("\n")
            self._logs[name] = said
        if not status and not all(map(self._has_ended, names)):
            raise RuntimeError(f"{SCRIPT} left out programs: {text[-2000:]}")
        return f"the process ended with {status}: {text[-600:]}" if status else ""

    def _has_ended(self, name: str) -> bool:
        return (self.folder / f"{name}.outputs.pt").exists() or (self.folder / f"{name}.error.txt").exists()
