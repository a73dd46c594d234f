# SPDX-License-Identifier: BSD-3-Clause
"""scripts/test.sh: how it finds the steps of backends, runs them, counts their tests and prints their cost."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
STEPS = """
gate=() long=()
set_up() { :; }
gate_step one 1 600
gate_step two 2 600
gate_step three 2 600
long_step four
step_one() { while [[ ! -e "${root}/two" ]]; do sleep 0.05; done; echo "3 passed in 1.0s"; }
step_two() { touch "${root}/two"; echo "2 passed, 1 skipped in 1.0s"; }
step_three() { (ulimit -t 2; while :; do :; done) || true; echo "1 failed, 4 passed in 1.0s"; return 1; }
step_four() { touch "${root}/four"; }
"""
"""Gate steps of a backend, in place of the real ones. The first ends only if the second runs in parallel."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "backends/demo").mkdir(parents=True)
    shutil.copytree(ROOT / "scripts/gate", tmp_path / "scripts/gate")
    for name in ("test.sh", "environment.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "backends/demo/gate.sh").write_text(STEPS)
    return tmp_path


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [tree / "scripts/test.sh", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "NO_COLOR": "1"})


def test_steps_of_backends_run_two_at_a_time_and_are_counted(tree: Path) -> None:
    done = run(tree, "--times")
    assert done.returncode == 1
    assert "failed: three (the logs are in .cache/logs" in done.stdout
    assert re.search(r"^9 passed, 1 failed, 1 skipped in ", done.stdout, re.M)
    costs = re.findall(r"^(\w+) +\d+m\d\ds +(\d+) +(\d+) +\d+ +\d+$", done.stdout, re.M)
    seconds = {name: int(cpu) for name, cpu, _ in costs}
    assert all(int(budget) >= 600 for *_, budget in costs)  # more on a slower machine
    assert seconds.keys() == {"one", "two", "three"} and seconds["two"] == 0
    assert seconds["three"] > 0
    assert not (tree / "four").exists()
    assert "over budget" not in done.stdout


def test_a_lane_that_has_ended_takes_steps_of_either_lane(tree: Path) -> None:
    """Step `one` of lane 1 waits for step `four`, which only lane 2 can then run. Each step runs once."""
    steps = """
gate=() long=()
set_up() { :; }
gate_step one 1 600
gate_step two 2 600
gate_step three either 600
gate_step four either 600
step_one() { while [[ ! -e "${root}/four" ]]; do sleep 0.05; done; echo "1 passed in 1.0s"; }
step_two() { echo "1 failed in 1.0s"; return 1; }
step_three() { echo three >>"${root}/begun"; echo "1 passed in 1.0s"; }
step_four() { echo four >>"${root}/begun"; touch "${root}/four"; echo "1 passed in 1.0s"; }
"""
    (tree / "backends/demo/gate.sh").write_text(steps)
    done = run(tree)
    assert done.returncode == 1, done.stdout
    assert (tree / "begun").read_text() == "three\nfour\n"
    assert re.search(r"^3 passed, 1 failed, 0 skipped in ", done.stdout, re.M)


def test_steps_over_their_budget_are_named(tree: Path) -> None:
    steps = STEPS.replace("gate_step three 2 600", "gate_step three 2 0").replace('echo "1 failed,', 'echo "')
    (tree / "backends/demo/gate.sh").write_text(steps.replace('1.0s"; return 1', '1.0s"'))
    done = run(tree)
    assert done.returncode == 0, done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "over budget" in line]
    assert re.match(r"over budget: three took \d+ s of CPU time, its budget on this machine is 0 s", line)
    assert "CONTRIBUTING.md" in line


def test_each_file_that_is_compiled_adds_to_the_budget(tree: Path) -> None:
    """Each compiled file adds 2.7 s to a budget (on the reference server). Here, the step compiles ten files."""
    steps = (
        STEPS
        + """
slowness() { echo 200; }
gate_step five 1 10
step_five() { printf 'cache_miss\\n%.0s' 1 2 3 4 5 6 7 8 9 10 >"${CCACHE_STATSLOG}"; }
"""
    )
    (tree / "backends/demo/gate.sh").write_text(steps)
    assert re.search(r"^five +0m0\ds +0 +74 +10 +0$", run(tree, "five", "--times").stdout, re.M)


def test_named_steps_and_the_long_ones(tree: Path) -> None:
    assert run(tree, "--list").stdout.splitlines() == ["one two three", "with --all also: four"]
    assert run(tree, "two", "four").returncode == 0
    assert (tree / "four").exists()
    wrong = run(tree, "five")
    assert wrong.returncode == 1
    assert "there is no step `five`; the steps are: one two three four" in wrong.stderr


def test_packages_that_steps_need_are_installed_in_one_call(tree: Path) -> None:
    steps = (
        STEPS
        + """
set_up() { install_tools; }
debian() { printf 'debian: %s: %s\\n' "$1" "$2"; }
gate_step five 1 600 "bash=bash" "no-such-command=b" "/bin/ba*=shell" "/no/other=a"
long_step six "/no/such/*=c" "nor-this=b"
long_step seven "bash=c d"
step_five() { :; }
step_six() { :; }
step_seven() { :; }
"""
    )
    (tree / "backends/demo/gate.sh").write_text(steps)
    assert "debian: no-such-command /no/other: a b\n" in run(tree, "five").stdout
    assert "debian: no-such-command /no/other /no/such/*: a b c\n" in run(tree, "five", "six").stdout
    assert "debian" not in run(tree, "two").stdout
    # A file of one package does not show that another package is there.
    assert "the step seven needs `bash=c d`; expected one package" in run(tree, "seven").stderr


def test_a_failed_step_shows_its_errors_however_much_follows(tree: Path) -> None:
    step = """
gate_step long 1 600
step_long() { echo "Test.swift:9: error: first failed"; seq 1000; echo "9 passed"; return 1; }
"""
    (tree / "backends/demo/gate.sh").write_text(STEPS + step)
    shown = run(tree, "long").stdout
    assert re.search(r"Errors in \S*long\.log.*\n\s+1:Test\.swift:9: error: first failed\n", shown), shown
    assert re.search(r"The end of \S*long\.log:\n\s+972\n", shown), shown


def test_the_gate_names_no_backend() -> None:
    files = [ROOT / "scripts/test.sh", *(ROOT / "scripts/gate").glob("*.sh")]
    text = "".join(file.read_text(encoding="utf-8") for file in files).lower()
    for manifest in [*ROOT.glob("backends/*/backend.json"), *ROOT.glob("backends/*/*/backend.json")]:
        assert not re.search(rf"(^|[^a-z]){manifest.parent.name}", text), manifest  # "dumps" is not a backend


def test_the_names_of_all_tests(tree: Path) -> None:
    """Two folders have a file of the same name, with tests that do not always run; one file cannot be collected."""
    test = "import pytest\n\n@pytest.mark.{}\n@pytest.mark.parametrize('x', range(2))\ndef test_it(x):\n    pass\n"
    for folder, mark in (("tests/python", "slow"), ("backends/demo/test", "sampled")):
        (tree / folder).mkdir(parents=True)
        (tree / folder / "test_a.py").write_text(test.format(mark))
    (tree / "build/asan").mkdir(parents=True)
    (tree / "build/asan/CTestTestfile.cmake").write_text('add_test(Suite.Case "true")\n')
    (tree / ".venv/bin").mkdir(parents=True)
    python = tree / ".venv/bin/python"
    python.write_text(f'#!/bin/bash\nPYTEST_DISABLE_PLUGIN_AUTOLOAD=1 exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = run(tree, "--ids")
    assert done.returncode == 0, done.stderr
    files = ("backends/demo/test/test_a.py", "tests/python/test_a.py")
    names = ["ctest: Suite.Case", *(f"{file}::test_it[{x}]" for file in files for x in range(2))]
    assert done.stdout.splitlines() == sorted(names)
    (tree / "tests/python/test_b.py").write_text("import no_such_module\n")
    done = run(tree, "--ids")
    assert done.returncode == 1 and "No module named 'no_such_module'" in done.stderr
    assert "tests/python/test_a.py::test_it[0]" in done.stdout
