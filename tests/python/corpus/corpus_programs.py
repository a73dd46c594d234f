# SPDX-License-Identifier: BSD-3-Clause
"""The programs in tests/data/corpus: what to call, with what, and what must come out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "data" / "corpus"


@dataclass(frozen=True)
class Call:
    """One call of a method; values are numpy arrays, Python scalars, str or None."""

    method: str
    inputs: list[Any]
    outputs: list[Any]


def program_names() -> list[str]:
    """All programs, by name."""
    return sorted(path.parent.name for path in FOLDER.glob("*/manifest.json"))


def program_file(name: str) -> Path:
    return FOLDER / name / "model.pte"


def data_file(name: str) -> Path | None:
    """The program's `.ptd`, if it has one."""
    return next((FOLDER / name).glob("*.ptd"), None)


def calls(name: str) -> list[Call]:
    """The calls to make in this order on one loaded program."""
    manifest = json.loads((FOLDER / name / "manifest.json").read_text())
    return [
        Call(
            call["method"],
            [_value(name, entry) for entry in call["inputs"]],
            [_value(name, entry) for entry in call["outputs"]],
        )
        for call in manifest["calls"]
    ]


def _value(name: str, entry: dict[str, Any]) -> Any:
    if entry["type"] != "tensor":
        return entry.get("value")
    data = (FOLDER / name / entry["file"]).read_bytes()
    return np.frombuffer(data, dtype=np.dtype(entry["dtype"])).reshape(entry["shape"])
