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

The documented behaviour, row by row. *Done*: a test names the row's id, or the page named here is what
the row asks for. *Partly*: the note says what is missing. *Not*: no test names it yet.

`scripts/pages` writes this page from the tests and the notes in `tests/data/rows.yaml`. An id counts where a test
function names it: in its name or docstring in Python, in its name or the comments directly above it and inside it in
other languages. Two areas of the same name come from two documents; the second is called `EXP2`, `MEM2` and so on.
"""


@dataclass
class Area:
    """An area: for each row what it asks, the tests that name it, and its note (kind and text)."""

    name: str
    title: str
    rows: dict[str, str]
    notes: dict[str, tuple[str, str]]
    tests: dict[str, set[Path]] = field(default_factory=dict)

    def state(self, row: str) -> str:
        """ "done", "partly" or "not"."""
        kind = self.notes.get(row, ("", ""))[0]
        return kind or ("done" if row in self.tests else "not")


def read_areas(file: Path = ROWS) -> list[Area]:
    """The areas without their tests. Raises ValueError for a wrong field, row or sentence."""
    areas = []
    for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
        place = f"{file.name}: {entry.get('area', 'an area without a name')}"
        for name in sorted(entry.keys() ^ {"area", "title", "asks", "notes"}):
            if name in entry:
                raise ValueError(f"{place} has the unknown field {name!r}. Remove it.")
            if name != "notes":
                raise ValueError(f"{place} has no field {name!r}. Add it.")
        asks = {f"{number:02}": text for number, text in enumerate(entry["asks"], start=1)}
        for row, text in asks.items():
            if not re.fullmatch(r"\S+ .+\.", str(text)):
                raise ValueError(
                    f"{place}-{row} asks {text!r}. Write what the row asks in a sentence that ends with a dot."
                )
        notes = {}
        for row, note in entry.get("notes", {}).items():
            ((kind, text),) = note.items()
            if row not in asks or kind not in ("done", "partly", "not"):
                raise ValueError(f"{place}-{row} has a note that says {kind!r}. Write done, partly or not, for a row.")
            notes[row] = (kind, text)
        areas.append(Area(entry["area"], entry["title"], asks, notes))
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


@functools.cache
def areas_with_tests() -> list[Area]:
    """Returns the areas with the tests that name their rows now."""
    areas = read_areas()
    find_tests(areas)
    return areas


def counts() -> dict[str, str]:
    """Counts the rows, and those that are done, partly done and not done: figures of other pages."""
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
        lines += ["", *_section(area)]
    return filled("\n".join(lines) + "\n", figures(read()) if known is None else known)


def _section(area: Area) -> list[str]:
    lines = [
        f"## {area.title} ({area.name})",
        "",
        "| row | asks | state | by, or what is missing |",
        "|---|---|---|---|",
    ]
    for row, asked in area.rows.items():
        tests = ", ".join(f"`{path.as_posix()}`" for path in sorted(area.tests.get(row, ())))
        text = "; ".join(part for part in (area.notes.get(row, ("", ""))[1], tests) if part)
        lines.append(f"| {area.name}-{row} | {asked} | {area.state(row)} | {text} |")
    return lines
