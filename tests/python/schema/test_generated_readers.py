# SPDX-License-Identifier: BSD-3-Clause
"""The checked-in flatbuffer readers equal those that the schemas generate."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA_FOLDER = ROOT / "sdk" / "cpp" / "executorch" / "schema"
SCRIPT = ROOT / "scripts" / "regenerate_schema"
SCHEMAS = sorted(SCHEMA_FOLDER.glob("*.fbs"))


@pytest.mark.slow  # the first run builds flatc
def test_readers_are_current() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda path: path.stem)
def test_reader_beside_its_schema_has_every_field(schema: pathlib.Path) -> None:
    """Finds a field that is in a schema and not in its reader, without flatc."""
    reader = (SCHEMA_FOLDER / f"{schema.stem}_generated.h").read_text()
    text = re.sub(r"//.*", "", schema.read_text())
    for table, body in re.findall(r"\btable (\w+) {(.*?)}", text, re.DOTALL):
        assert f"struct {table} FLATBUFFERS_FINAL_CLASS" in reader
        body = re.sub(r"\w+: \w+ \(deprecated\);", "", body)  # has no reader
        for field in re.findall(r"(\w+)\s*:", re.sub(r"\(.*?\)", "", body)):
            assert re.search(rf"\b{field}\(\) const", reader), f"{schema.name}: {table}.{field} is not in the reader"
    for identifier in re.findall(r'file_identifier "(\w+)"', text):
        assert f'"{identifier}"' in reader


def test_schemas_are_the_published_revision() -> None:
    """FORMATS: the identifiers are ET12 and FT01, and the fields are in the order of their ids."""
    program = (SCHEMA_FOLDER / "program.fbs").read_text()
    plan = re.search(r"table ExecutionPlan {(.*?)}", program, re.DOTALL)
    assert plan is not None
    assert re.findall(r"(\w+):", plan[1]) == [
        "name",
        "container_meta_type",
        "values",
        "inputs",
        "outputs",
        "chains",
        "operators",
        "delegates",
        "non_const_buffer_sizes",
        "non_const_buffer_device",
        *(f"reserved_{number}" for number in range(10, 16)),
        "dynamic_sizes",
        "shared_buffer",
    ], "ExecuTorch's fields, six ids for its next ones, then those of this SDK"
