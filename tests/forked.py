# SPDX-License-Identifier: BSD-3-Clause
"""Python processes for tests that do not pay for their imports.

Importing PyTorch and the first export take seven seconds of CPU time, and many tests run a command as a process. `run`
does what ``subprocess.run([sys.executable, ...], capture_output=True, text=True)`` does, in a fork of a process that
has imported and exported before. So it is the wrong call for a test of the start itself: of what is imported, and of
the variables that Python or the dynamic linker reads at a start (PYTHONHASHSEED, LD_LIBRARY_PATH).
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

SERVER = Path(__file__).with_name("forked_server.py")
OURS = ("forked_warm",)


class ForkServer:
    """A Python that has imported `modules`, and runs programs in forks of itself, one at a time."""

    def __init__(self, python: str, modules: Sequence[str]) -> None:
        self.python = python
        self.modules = modules
        self._server: subprocess.Popen[str] | None = None

    def run(
        self,
        *arguments: object,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = False,
        timeout: float = 0,
    ) -> subprocess.CompletedProcess[str]:
        """Does what ``python ARGUMENTS`` does: ``-c CODE``, ``-m MODULE`` or a file, after any ``-W FILTER``. A program
        that takes longer than `timeout` seconds, if that is not 0, is ended, with subprocess.TimeoutExpired.
        """
        server = self._started()
        assert server.stdin is not None and server.stdout is not None
        command = [str(argument) for argument in arguments]
        with tempfile.TemporaryDirectory(prefix="forked-") as folder:
            files = {name: str(Path(folder) / name) for name in ("stdout", "stderr")}
            request = {
                "arguments": command,
                "cwd": str(cwd or Path.cwd()),
                "env": dict(os.environ if env is None else env),
                "timeout": timeout,
                **files,
            }
            print(json.dumps(request), file=server.stdin, flush=True)
            reply = server.stdout.readline()
            if not reply:
                raise RuntimeError(f"{self.python} ended with status {server.wait()} while it ran {command}")
            output, error = (Path(files[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        if timeout and int(reply) == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(command, timeout, output, error)
        done = subprocess.CompletedProcess([self.python, *command], int(reply), output, error)
        if check and done.returncode:
            raise AssertionError(f"{command[:3]} ended with status {done.returncode}:\n{error[-3000:]}")
        return done

    def _started(self) -> subprocess.Popen[str]:
        if self._server is None or self._server.poll() is not None:
            # The server ends when its standard input is closed. Waiting for it adds its CPU time to that of this
            # process.
            self._server = subprocess.Popen(
                [self.python, str(SERVER), *self.modules],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(self._server.communicate)
        return self._server


@functools.cache
def server_of(python: str, modules: tuple[str, ...]) -> ForkServer:
    """The one server of these modules in this process of pytest."""
    return ForkServer(python, modules)


def run(
    *arguments: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = False,
    timeout: float = 0,
) -> subprocess.CompletedProcess[str]:
    """Runs a program with this Python: see `ForkServer.run`."""
    return server_of(sys.executable, OURS).run(*arguments, cwd=cwd, env=env, check=check, timeout=timeout)
