# SPDX-License-Identifier: BSD-3-Clause
"""How the gate samples expensive tests, and costs.txt, the file that lists these."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import costs
from costs import FILE, merged, parse, used
from forked import server_of

ROOT = Path(__file__).resolve().parents[3]
TESTS = """
import pytest

def test_quick():
    '''RT-01'''

def test_slow():
    '''RT-02'''

@pytest.mark.always
def test_needed():
    pass

@pytest.mark.parametrize("row", [f"OP-{n:02}" for n in range(40)])
def test_rows(row):
    pass

class TestOthers:
    @pytest.mark.parametrize("n", range(3))
    def test_few(self, n):
        pass

    def test_slow_one(self):
        pass
"""
COSTS = """\
0.08 tests/test_a.py::TestOthers::test_few
7.5 tests/test_a.py::TestOthers::test_slow_one
5.0 tests/test_a.py::test_needed
0.1 tests/test_a.py::test_quick
0.1 tests/test_a.py::test_rows
3.0 tests/test_a.py::test_slow
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "conftest.py", tmp_path)
    for name in ("changes.py", "costs.py", "sampling.py", "seeds.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    (tmp_path / "tests/test_a.py").write_text(TESTS)
    (tmp_path / "tests/costs.txt").write_text(COSTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  always: x\npythonpath = tests\n")
    monkeypatch.setenv("SDK_CHANGED_SINCE", "none")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return tmp_path


def output_of(tree: Path, *arguments: str) -> str:
    server = server_of(sys.executable, ("pytest", "hypothesis", "xdist.plugin"))
    done = server.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", *arguments, cwd=tree)
    return done.stdout + done.stderr


def share(tree: Path, monkeypatch: pytest.MonkeyPatch, which: str) -> set[str]:
    monkeypatch.setenv("SDK_TEST_SHARE", which)
    return set(re.findall(r"test_a\.py::\S+", output_of(tree, "--collect-only")))


def test_each_test_runs_once_in_ten_days_and_cheap_ones_each_day(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = share(tree, monkeypatch, "0/1")
    shares = [share(tree, monkeypatch, f"{which}/10") for which in range(10)]
    assert len(everything) == 47 and set.union(*shares) == everything
    cheap = {name for name in everything if "quick" in name or "few" in name or "needed" in name}
    for name in everything:
        assert sum(name in one for one in shares) == (10 if name in cheap else 1), name
    # The same each time, on every machine.
    assert share(tree, monkeypatch, "3/10") == shares[3]


def test_the_tests_of_a_changed_file_all_run(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "tests/test_b.py").write_text(TESTS)
    (tree / "tests/costs.txt").write_text(COSTS + COSTS.replace("test_a", "test_b").replace("0.1", "9.9"))
    for arguments in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *arguments], cwd=tree, check=True)
    with (tree / "tests/test_b.py").open("a") as file:
        file.write("CHANGED = True\n")
    monkeypatch.setenv("SDK_CHANGED_SINCE", "HEAD")
    monkeypatch.setenv("SDK_TEST_SHARE", "3/10")
    said = output_of(tree, "--collect-only")
    assert said.count("test_b.py::") == 47 and said.count("test_a.py::") < 20


def test_costs_are_recorded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The costs of a test include the processes that it waits for."""
    (tree / "tests/test_a.py").write_text(
        "import subprocess, sys\n"
        "def test_it():\n"
        "    subprocess.run([sys.executable, '-c', 'while __import__(\"time\").process_time() < 0.6: pass'])\n"
        "def test_quick():\n    pass\n"
    )
    record = tree / "record"
    monkeypatch.setenv("SDK_TEST_COSTS", str(record))
    assert "2 passed" in output_of(tree)
    found = {name: float(cost) for cost, name in map(str.split, record.read_text().splitlines())}
    assert found["tests/test_a.py::test_it"] >= 0.5 > found["tests/test_a.py::test_quick"]


def test_costs_are_merged_by_what_all_tests_of_a_function_take(tree: Path) -> None:
    """A fixture's time counts for the first test that uses it. A function with many cheap tests can be expensive."""
    before = {"tests/test_a.py::test_slow": 9.0, "tests/test_a.py::test_gone": 9.0, "tests/no_file.py::test_it": 9.0}
    records = [(cost, f"tests/test_a.py::TestOthers::test_few[{n}]") for n, cost in enumerate((7.0, 0.1, 0.1))]
    records += [(0.05, f"tests/test_a.py::test_rows[OP-{n:02}]") for n in range(40)]
    records += [(0.05, "tests/test_a.py::test_quick")]
    assert merged(before, records, tree) == {
        "tests/test_a.py::test_slow": 9.0,
        "tests/test_a.py::TestOthers::test_few": pytest.approx(2.4),
        "tests/test_a.py::test_rows": pytest.approx(0.05),
    }


def test_a_share_of_a_function_does_not_change_its_cost(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function keeps its cost if only one of its tests, a cheap one, was recorded."""
    record = tree / "record"
    monkeypatch.setenv("SDK_TEST_COSTS", str(record))
    monkeypatch.setenv("SDK_TEST_SHARE", "3/10")
    assert "passed" in output_of(tree)
    assert "part tests/test_a.py::test_rows\n" in record.read_text()
    assert "test_quick" not in "".join(line for line in record.read_text().splitlines() if line.startswith("part"))
    monkeypatch.setattr(costs, "FILE", tree / "tests/costs.txt")
    costs.known.cache_clear()
    record.write_text(record.read_text() + "7.00 tests/test_a.py::test_rows[OP-01]\n")
    costs.main("100", str(record))
    costs.known.cache_clear()
    assert parse((tree / "tests/costs.txt").read_text())["tests/test_a.py::test_rows"] == 0.1


def test_means_of_many_cheap_tests_are_written(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{0.01 if n < 20 else 0:.2f} tests/test_a.py::test_rows[OP-{n:02}]\n" for n in range(80))
    (tree / "record").write_text(rows)
    monkeypatch.setattr(costs, "FILE", tree / "tests/costs.txt")
    costs.known.cache_clear()
    costs.main("100", str(tree / "record"))
    costs.known.cache_clear()
    assert parse((tree / "tests/costs.txt").read_text())["tests/test_a.py::test_rows"] == 0.0025


def test_the_command_writes_the_file_for_the_server_of_the_budgets(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "record").write_text("6.00 tests/test_a.py::test_slow\n3.00 tests/test_a.py::test_rows[OP-01]\n")
    monkeypatch.setattr(costs, "FILE", tree / "tests/costs.txt")
    costs.known.cache_clear()
    costs.main("200", str(tree / "record"))
    costs.known.cache_clear()
    assert "6 functions, 2 tests" in capsys.readouterr().out
    assert parse((tree / "tests/costs.txt").read_text()) == {
        **parse(COSTS),
        "tests/test_a.py::test_rows": 1.5,
    }


def test_the_time_of_children_that_still_run_counts() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        while sum(os.times()[:4]) + 0.3 > used():
            time.sleep(0.05)
        child.kill()


def test_the_file_is_in_order() -> None:
    names = [line.split(maxsplit=1)[1] for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert names == sorted(set(names))
