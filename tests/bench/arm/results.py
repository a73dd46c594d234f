# SPDX-License-Identifier: BSD-3-Clause
"""The cells of the tables that earlier runs have counted. Counting a table takes hours, which several runs share."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from math import inf, isinf
from pathlib import Path
from typing import Any

from bench.arm.counting import CACHE, keep
from bench.engines import ImpossibleError

FILE = Path(__file__).with_name("results.json")
NOT_COUNTED = "not emulated yet"


@dataclass(frozen=True)
class Figure:
    """The costs of a call.

    Attributes:
        decibels: The signal of the result over its difference from eager float32.
    """

    instructions: float
    cycles: float
    decibels: float


@dataclass(frozen=True)
class Cell:
    """The result of a run.

    Attributes:
        counted: The date.
        key: The digest of the program, its inputs, the engine and the processor; "" for one that was not kept.
        reason: Why there is no figure.
    """

    counted: str
    figure: Figure | None = None
    key: str = ""
    reason: str = ""


class Results:
    """The file of the cells. It is written after each cell, so a run that ends early loses nothing. Runs at the same
    time keep each other's cells."""

    def __init__(self, path: Path = FILE) -> None:
        self.path = path
        self.cells = self._read()

    def _read(self) -> dict[str, Cell]:
        found = {}
        for name, kept in (json.loads(self.path.read_text()) if self.path.exists() else {}).items():
            figure = Figure(**{"decibels": inf, **kept.pop("figure")}) if "figure" in kept else None
            found[name] = Cell(figure=figure, **kept)
        return found

    @staticmethod
    def name(model: str, precision: str, processor: str, column: str) -> str:
        return " | ".join((precision, model, processor, column))

    def figure(self, name: str) -> Figure:
        """The figure of a cell. Raises ImpossibleError with the reason where there is none."""
        cell = self.cells.get(name)
        if cell is None or cell.figure is None:
            raise ImpossibleError(cell.reason if cell else NOT_COUNTED)
        return cell.figure

    def has(self, name: str, key: str | None) -> bool:
        """Whether a cell was counted; if `key` is given, under this key."""
        return name in self.cells and key in (None, self.cells[name].key)

    def put(self, name: str, key: str, found: Figure | ImpossibleError) -> None:
        figure = found if isinstance(found, Figure) else None
        with self._alone():
            self.cells = self._read()
            self.cells[name] = Cell(str(date.today()), figure, key, "" if figure else str(found))
            lines = [f"{json.dumps(each)}: {json.dumps(_content(self.cells[each]))}" for each in sorted(self.cells)]
            keep(self.path, "{\n" + ",\n".join(lines) + "\n}\n")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Other runs wait for this one to write."""
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / "results.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def dates(self, names: list[str]) -> tuple[str, str] | None:
        """The first and the last day on which cells were counted."""
        found = sorted(self.cells[name].counted for name in names if name in self.cells)
        return (found[0], found[-1]) if found else None


def _content(cell: Cell) -> dict[str, Any]:
    """The fields that are not empty, as a dict for JSON, which has no infinity."""
    content = {key: value for key, value in asdict(cell).items() if value not in (None, "")}
    if cell.figure and isinf(cell.figure.decibels):
        del content["figure"]["decibels"]
    return content
