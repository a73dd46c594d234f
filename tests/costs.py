# SPDX-License-Identifier: BSD-3-Clause
"""What tests cost, so that the gate runs only a share of the expensive ones: see conftest.py.

costs.txt has a line for each test function: the CPU seconds of one of its tests on the server of the budgets, and the
function. Every step of the gate records its tests in .cache/costs; `scripts/gate/costs` brings costs.txt up to date.
"""

from __future__ import annotations

import functools
import os
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("costs.txt")

EXPENSIVE = 0.3
"""CPU seconds on the reference server. If a function's tests take longer in all, the gate runs a sample of them."""

LEAST = 0.1
"""CPU seconds. Functions whose recorded tests together take less are not listed in costs.txt."""


def function_of(test: str) -> str:
    """The function of a test, from the test's id."""
    return test.partition("[")[0]


def parse(text: str) -> dict[str, float]:
    return {name: float(cost) for cost, name in (line.split(maxsplit=1) for line in text.splitlines())}


@functools.cache
def known() -> Mapping[str, float]:
    return parse(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


def cost_of(test: str) -> float:
    """The CPU seconds of a test; 1 if they are not known."""
    return known().get(function_of(test), 1)


def expensive(tests: Iterable[str]) -> set[str]:
    """The functions of these tests that together take longer than EXPENSIVE."""
    counts = Counter(map(function_of, tests))
    return {name for name, count in counts.items() if count * known().get(name, 0) > EXPENSIVE}


def used() -> float:
    """The CPU time in seconds of this process and of its children, also of those that still run."""
    hertz, total = os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            try:
                fields = Path("/proc", child, "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue  # it has ended
            total += sum(map(int, fields[11:15])) / hertz
    return total


PART = "part"
"""Begins the lines of a record that name a function of which not all tests ran."""


class Recorder:
    """Appends a line for each test to a file: its CPU time in seconds, and its id. For each function of which tests are
    left out, it appends a line with PART and the function."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = used()
        result = yield
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{used() - before:.2f} {item.nodeid}\n")
        return result

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        functions = sorted({function_of(item.nodeid) for item in items})
        with self.file.open("a", encoding="utf-8") as file:
            file.writelines(f"{PART} {name}\n" for name in functions)


def merged(
    before: Mapping[str, float], records: Iterable[tuple[float, str]], root: Path, parts: Container[str] = ()
) -> dict[str, float]:
    """The costs, updated with the mean of each function's records and without functions that no longer exist. It is the
    mean because a fixture of several tests counts for the first one, and because one of a function's models may take
    longer than all others. For the same reasons functions in `parts`, of which not all tests were recorded, keep the
    cost that they have."""
    found = defaultdict(list)
    for cost, test in records:
        name = function_of(test)
        if name not in parts or name not in before:
            found[name].append(cost)
    costs = {name: cost for name, cost in before.items() if name not in found}
    costs |= {name: statistics.fmean(each) for name, each in found.items() if sum(each) >= LEAST}
    return {name: cost for name, cost in costs.items() if _exists(name, root)}


def _exists(function: str, root: Path) -> bool:
    file, _, name = function.partition("::")
    path = root / file
    return path.is_file() and f"def {name.rpartition('::')[2]}(" in path.read_text(encoding="utf-8")


def _text(cost: float) -> str:
    """Two decimals, or two digits of costs of functions that have many cheap tests."""
    return f"{cost:.2f}" if cost >= LEAST else f"{cost:.2g}"


def main(slowness: str, *files: str) -> None:
    """`slowness` is the slowness of this machine in percent: see scripts/gate/run.sh."""
    lines = [line.split(maxsplit=1) for file in files for line in Path(file).read_text(encoding="utf-8").splitlines()]
    records = [(float(cost) * 100 / int(slowness), test) for cost, test in lines if cost != PART]
    costs = merged(known(), records, FILE.parents[1], {name for word, name in lines if word == PART})
    FILE.write_text("".join(f"{_text(costs[name])} {name}\n" for name in sorted(costs)), encoding="utf-8")
    print(f"{FILE.name}: {len(costs)} functions, {len(records)} tests were recorded")


if __name__ == "__main__":
    main(*sys.argv[1:])
