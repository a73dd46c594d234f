# SPDX-License-Identifier: BSD-3-Clause
"""tests/forked.py does what a start of Python does, without its imports."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forked import ForkServer


@pytest.fixture(scope="module")
def server() -> ForkServer:
    return ForkServer(sys.executable, ["decimal"])


def test_a_program_a_module_and_a_file(server: ForkServer, tmp_path: Path) -> None:
    text = "import sys; print(__name__, sys.argv[1:], file=sys.stderr); print(sys.path[0])"
    (tmp_path / "said.py").write_text(text)
    for how, first in ((["-c", text], ""), (["-m", "said"], str(tmp_path)), (["said.py"], str(tmp_path))):
        done = server.run(*how, "a", "b c", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{first}\n", "__main__ ['a', 'b c']\n")


@pytest.mark.parametrize(
    ("end", "status", "error"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('what was wrong')", 1, "what was wrong\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
    ],
)
def test_how_a_program_ends(server: ForkServer, end: str, status: int, error: str) -> None:
    code = f"import atexit, os, signal, sys; atexit.register(print, 'end'); print('begin', flush=True); {end}"
    done = server.run("-c", code)
    assert done.returncode == status and done.stderr.endswith(error) and bool(done.stderr) == bool(error)
    assert done.stdout == ("begin\n" if status < 0 else "begin\nend\n")
    if status:
        with pytest.raises(AssertionError, match=rf"ended with status {status}:"):
            server.run("-c", code, check=True)


def test_programs_have_the_imports_and_leave_nothing(server: ForkServer, tmp_path: Path) -> None:
    change = "import os, sys, decimal; decimal.x = sys.x = 1; os.environ['X'] = '1'; os.chdir('/')"
    ask = "import os, sys; print('decimal' in sys.modules, hasattr(sys, 'x'), 'X' in os.environ, os.getcwd())"
    server.run("-c", change, check=True)
    assert server.run("-c", ask, cwd=tmp_path).stdout == f"True False False {tmp_path}\n"


def test_the_environment_is_that_of_the_call(server: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text("import os; print(os.environ['GREETING'], 'HOME' in os.environ)")
    environment = {"GREETING": "hello", "PYTHONPATH": str(tmp_path)}
    assert server.run("-W", "error", "-m", "elsewhere", env=environment).stdout == "hello False\n"
    assert server.run("-m", "elsewhere").stderr.endswith("No module named elsewhere\n")


def test_a_program_that_hangs_is_ended(server: ForkServer) -> None:
    hang = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"
    with pytest.raises(subprocess.TimeoutExpired, match=r"timed out after 0.5 seconds"):
        server.run("-c", hang, timeout=0.5)
    # The time ends where the output is complete, however slow the machine is.
    hang = "import signal; print('begin', flush=True); signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()"
    with pytest.raises(subprocess.TimeoutExpired) as ended:
        server.run("-c", hang, timeout=60)
    assert ended.value.stdout == "begin\n"
    assert server.run("-c", "print('next')", timeout=60).stdout == "next\n"


def test_a_server_that_cannot_start_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match=r"ended with status 1 while it ran \['-c', 'pass'\]"):
        ForkServer(sys.executable, ["no_such_module"]).run("-c", "pass")
    assert "No module named 'no_such_module'" in capfd.readouterr().err
