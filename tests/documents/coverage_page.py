# SPDX-License-Identifier: BSD-3-Clause
"""docs/project/coverage.md: which rows of documented behaviour a test names, and notes on rows that are
tested in part."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from coverage_texts import texts_of_tests

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "project" / "coverage.md"
ROWS = ROOT / "tests" / "data" / "rows.yaml"
sys.path.insert(0, str(ROOT / "scripts"))

from status import figures, filled, read  # noqa: E402

_TESTS = ("test_*.py", "*_test.cpp", "*_test.mm", "*Test.kt", "*Test.java", "*Tests.swift", "*.bats")
_LEFT_OUT = {".cache", ".venv", "build", "dist", "node_modules", "__pycache__"}
_ID = r"(?P<{0}area>[A-Z]{{2,5}}2?)[-_](?P<{0}row>\d\d)"
_RANGE = re.compile(rf"(?<![A-Z0-9-]){_ID.format('')}(?:\s*(?:to|–|through)\s*{_ID.format('to_')})?(?![0-9])")

_HEAD = """# Coverage

What of the documented behaviour is there, row by row. *Done*: a test names the row's id, or the page named here is what
the row asks for. *Partly*: the note says what is missing. *Not*: no test names it yet.

`scripts/pages` writes this page from the tests and the notes in `tests/data/rows.yaml`. An id counts where a test
function names it: in its name or docstring in Python, in its name or the comments directly above it and inside it in
other languages. Two areas of the same name come from two documents; the second is called `EXP2`, `MEM2` and so on.
"""


@dataclass
class Area:
    """An area, its rows, and for each row the tests that name it and its note (kind and text)."""

    name: str
    title: str
    rows: list[str]
    notes: dict[str, tuple[str, str]]
    tests: dict[str, set[Path]] = field(default_factory=dict)

    def state(self, row: str) -> str:
        """ "done", "partly" or "not"."""
        kind = self.notes.get(row, ("", ""))[0]
        return kind or ("done" if row in self.tests else "not")


def read_areas() -> list[Area]:
    """The areas without their tests. Raises ValueError for a note about a row that does not exist."""
    areas = []
    for entry in yaml.safe_load(ROWS.read_text(encoding="utf-8")):
        rows = [f"{i + 1:02}" for i in range(entry["rows"])]
        notes = {}
        for row, note in entry.get("notes", {}).items():
            ((kind, text),) = note.items()
            if row not in rows or kind not in ("done", "partly", "not"):
                raise ValueError(f"{ROWS.name}: {entry['area']}-{row} has a note that says {kind!r}")
            notes[row] = (kind, text)
        areas.append(Area(entry["area"], entry["title"], rows, notes))
    return areas


def files_of_tests() -> Iterator[Path]:
    """Files of tests, in the repository's own folders."""
    for pattern in _TESTS:
        for path in sorted(ROOT.rglob(pattern)):
            if not _LEFT_OUT & set(path.relative_to(ROOT).parts):
                yield path


def ids_in(text: str) -> Iterator[tuple[str, str]]:
    """The ids that a test names: `EXP-01`, `EXP_01`, `EXP-01 to EXP-05`."""
    for match in _RANGE.finditer(text):
        area, first = match["area"], int(match["row"])
        last = int(match["to_row"]) if match["to_area"] == area else first
        yield from ((area, f"{row:02}") for row in range(first, last + 1))


def find_tests(areas: list[Area]) -> None:
    """Fills in which tests name which row."""
    by_name = {area.name: area for area in areas}
    for path in files_of_tests():
        for text in texts_of_tests(path):
            for name, row in ids_in(text):
                area = by_name.get(name)
                if area is not None and row in area.rows:
                    area.tests.setdefault(row, set()).add(path.relative_to(ROOT))


def spans(rows: list[str], name: str) -> str:
    """`EXP-01 – EXP-03, EXP-05`"""
    parts: list[list[str]] = []
    for row in rows:
        if parts and int(row) == int(parts[-1][-1]) + 1:
            parts[-1].append(row)
        else:
            parts.append([row])
    texts = [f"{name}-{p[0]}" if len(p) == 1 else f"{name}-{p[0]} – {name}-{p[-1]}" for p in parts]
    return ", ".join(texts)


@functools.cache
def areas_with_tests() -> list[Area]:
    """The areas with the tests that name their rows, as they are now."""
    areas = read_areas()
    find_tests(areas)
    return areas


def counts() -> dict[str, str]:
    """How many rows there are, and how many are done, partly done and not: figures of other pages."""
    states = [area.state(row) for area in areas_with_tests() for row in area.rows]
    found = {f"rows-{state}": f"{states.count(state):,}" for state in ("done", "partly", "not")}
    return {"rows": f"{len(states):,}", **found}


def page(known: Mapping[str, str] | None = None) -> str:
    """The text of the page. `known` are the figures for which notes have names in braces: those of docs/status.yaml."""
    areas = areas_with_tests()
    states = [area.state(row) for area in areas for row in area.rows]
    lines = [_HEAD, "| area | rows | done | partly | not |", "|---|---|---|---|---|"]
    for area in areas:
        counts = [sum(area.state(r) == s for r in area.rows) for s in ("done", "partly", "not")]
        lines.append(f"| {area.title} ({area.name}) | {len(area.rows)} | {' | '.join(map(str, counts))} |")
    counts = [states.count(s) for s in ("done", "partly", "not")]
    lines.append(f"| **all** | {len(states)} | {' | '.join(map(str, counts))} |")
    for area in areas:
        if any(area.state(row) != "not" or row in area.notes for row in area.rows):
            lines += ["", *_section(area)]
    return filled("\n".join(lines) + "\n", figures(read()) if known is None else known)


def _section(area: Area) -> list[str]:
    lines = [f"## {area.title} ({area.name})", "", "| rows | state | by, or what is missing |", "|---|---|---|"]
    groups: dict[tuple[str, str], list[str]] = {}
    for row in area.rows:
        tests = ", ".join(f"`{path.as_posix()}`" for path in sorted(area.tests.get(row, ())))
        text = "; ".join(t for t in (area.notes.get(row, ("", ""))[1], tests) if t)
        groups.setdefault((area.state(row), text), []).append(row)
    lines += [f"| {spans(rows, area.name)} | {state} | {text} |" for (state, text), rows in groups.items()]
    return lines
