# SPDX-License-Identifier: BSD-3-Clause
"""generate_profiling_csv: the table of the Inspector as a file."""

from __future__ import annotations

import csv
from pathlib import Path

import dumps
import pytest

from sdk.devtools import Inspector
from sdk.devtools.scripts import generate_profiling_csv


def test_the_table_is_that_of_the_inspector(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    etdump, output = tmp_path / "model.etdump", tmp_path / "times.csv"
    etdump.write_bytes(dumps.three_runs())
    assert generate_profiling_csv.main([f"--etdump_path={etdump}", f"--output={output}"]) == 0
    assert str(output) in capsys.readouterr().out
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = Inspector(etdump_path=str(etdump)).to_dataframe()
    assert [row["event_name"] for row in rows] == list(table["event_name"])
    (call,) = [row for row in rows if row["event_name"] == "OPERATOR_CALL"]
    assert float(call["avg (ms)"]) == pytest.approx(2)  # of 1, 2 and 3


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate_profiling_csv.main(["--etdump_path", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err
