# SPDX-License-Identifier: BSD-3-Clause
"""The programs in tests/data/corpus: their calls, inputs and expected outputs."""

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
    """The program's `.ptd`, or None."""
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


def dim_orders(name: str, call: int) -> tuple[list[list[int]], list[list[int]]]:
    """The dim orders of the tensors of a call in the program: those of the inputs, and those of the outputs."""
    entry = json.loads((FOLDER / name / "manifest.json").read_text())["calls"][call]
    return tuple(  # type: ignore[return-value]
        [value["orig_dim_order"] for value in entry[side] if value["type"] == "tensor"]
        for side in ("inputs", "outputs")
    )


# The effect of one rounding in a sum of a few hundred terms, relative to the largest value of the output.
TOLERANCES = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}
# Eager quantises the activations of this program with one scale, the backend each row separately.
TOLERANCES_OF_PROGRAMS = {"q8_dynamic_linear_xnn": 1e-2}


def check(found: Any, expected: Any, where: str, program: str = "") -> None:
    """Asserts that a value is the expected one, within the tolerance of its dtype or of the program."""
    if not isinstance(expected, np.ndarray):
        assert type(found) is type(expected), f"{where}: {found!r} is not a {type(expected).__name__}"
        assert found == expected, where
        return
    # A call without tensors returns torch's if another test has imported torch.
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
    tolerance = TOLERANCES_OF_PROGRAMS.get(program, TOLERANCES.get(expected.dtype.name))
    if tolerance is None:
        np.testing.assert_array_equal(found, expected, where)
    else:
        finite = np.abs(expected[np.isfinite(expected)])
        scale = float(finite.max()) if finite.size else 1.0
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * min(scale, 1.0), err_msg=where)


def _value(name: str, entry: dict[str, Any]) -> Any:
    if entry["type"] != "tensor":
        return entry.get("value")
    data = (FOLDER / name / entry["file"]).read_bytes()
    return np.frombuffer(data, dtype=np.dtype(entry["dtype"])).reshape(entry["shape"])
