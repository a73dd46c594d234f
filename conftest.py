# SPDX-License-Identifier: BSD-3-Clause
"""Settings of all tests.

SDK_TEST_SHARE=K/N runs share K, from 0 to N - 1, of the tests that are marked `sampled` or are expensive
(tests/costs.py) without the mark `always`, and those of them that the change concerns (tests/changes.py).
scripts/test.sh sets it, to another share each day, so that each test runs once in N days; without it, all run.
SDK_TEST_COSTS names a file to which costs of tests are added.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from changes import SINCE, changed_files, concerned, since
from costs import Recorder, cost_of, expensive, function_of
from sampling import number_of, share

# Read when PyTorch is imported. By default, its threads keep a core busy while they wait, and other processes need it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# What the collection imports is compiled once and not in each process, even where the environment says that Python
# writes no bytecode: compiling the tests takes half of their collection. What a test imports later follows the
# environment, because a test may write a module twice in a second, and Python would not see that the bytecode is old.
_dont_write_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, False

pytest_plugins = ["seeds"]

# An example may take long on a busy machine: a fixed time limit would fail correct tests.
settings.register_profile("sdk", deadline=None)
settings.load_profile("sdk")


def pytest_report_header(config: pytest.Config) -> str | None:
    which, count = share()
    if count == 1:
        return None
    commit = since(config.rootpath)
    changes = f"and those that changes since {commit[:10]} concern" if commit else f"and no others ({SINCE})"
    return f"SDK_TEST_SHARE={which}/{count}: this share of the sampled and the expensive tests, {changes}"


ADDED = pytest.StashKey[int]()
"""The number of sampled tests that run because of changes."""

LEFT_OUT = pytest.StashKey[int]()
"""The number of tests that are in other shares only."""

MOST_ADDED = 30
"""CPU seconds on the server of the budgets. A change that concerns tests that take longer, such as one of a whole
backend, adds another part of them each day."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    which, count = share()
    if count == 1:
        return
    in_shares = expensive(item.nodeid for item in items)
    left = [
        item
        for item in items
        if (item.get_closest_marker("sampled") or function_of(item.nodeid) in in_shares)
        and not item.get_closest_marker("always")
        and number_of(item.nodeid) % count != which
    ]
    if left:
        is_concerned = concerned(config.rootpath, [(item.path, _paths(item)) for item in left])
        concerned_items = [item for item, is_one in zip(left, is_concerned, strict=True) if is_one]
        parts = max(1, -(-int(sum(cost_of(item.nodeid) for item in concerned_items)) // MOST_ADDED))
        changed = changed_files(config.rootpath)
        added = [
            item
            for item in concerned_items
            if number_of(item.nodeid) // count % parts == which % parts
            or (item.path in changed and not item.get_closest_marker("sampled"))
        ]
        config.stash[ADDED] = len(added)
        left = list(set(left) - set(added))
        config.stash[LEFT_OUT] = len(left)
        config.hook.pytest_deselected(items=left)
        chosen = set(items) - set(left)
        items[:] = [item for item in items if item in chosen]


def pytest_collection_finish() -> None:
    """Later collections of garbage do not examine the modules that were imported, which all stay."""
    sys.dont_write_bytecode = _dont_write_bytecode
    gc.collect()
    gc.freeze()


def _paths(item: pytest.Item) -> list[Path]:
    """The parameters of a test that are paths."""
    parameters = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    return [value for value in parameters if isinstance(value, Path)]


def pytest_sessionfinish(session: pytest.Session) -> None:
    stash = session.config.stash
    output = getattr(session.config, "workeroutput", None)  # in a process of pytest-xdist
    if output is not None:
        output["added"], output["left_out"] = stash.get(ADDED, 0), stash.get(LEFT_OUT, 0)
    elif session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and stash.get(LEFT_OUT, 0):
        session.exitstatus = pytest.ExitCode.OK  # the share has none of these tests


class Processes:
    """Each process of pytest-xdist collects all tests."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        node.config.stash[ADDED], node.config.stash[LEFT_OUT] = output.get("added", 0), output.get("left_out", 0)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Processes())
    if file := os.environ.get("SDK_TEST_COSTS"):
        config.pluginmanager.register(Recorder(Path(file)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    added = config.stash.get(ADDED, 0)
    if added:
        terminalreporter.write_line(f"{added} sampled tests of other shares ran because the change concerns them")
