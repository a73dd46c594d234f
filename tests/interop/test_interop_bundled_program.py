# SPDX-License-Identifier: BSD-3-Clause
"""Each SDK reads the other's bundled programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.originals import InOriginal, in_both_releases
from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from sdk.devtools.bundled_program.util.test_util import get_common_executorch_program
from sdk.extension.pybindings.portable_lib import (
    _load_bundled_program_from_buffer,
    _load_for_executorch_from_bundled_program,
)

pytestmark = [pytest.mark.network, pytest.mark.oracle, in_both_releases]

READ = """
import sys
from executorch.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.extension.pybindings import portable_lib

data = open(sys.argv[1], "rb").read()
bundle = portable_lib._load_bundled_program_from_buffer(data)
module = portable_lib._load_for_executorch_from_bundled_program(bundle)
assert sorted(module.method_names()) == ["decode", "encode"], module.method_names()
for suite in deserialize_from_flatbuffer_to_bundled_program(data).method_test_suites:
    assert len(suite.test_cases) == 10
    for case in range(10):
        bundle.verify_result_with_bundled_expected_output(suite.method_name, case)
print("read")
"""

WRITE = """
import sys
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.devtools.bundled_program.util.test_util import get_common_executorch_program

bundle = BundledProgram(*get_common_executorch_program())
open(sys.argv[1], "wb").write(serialize_from_bundled_program_to_flatbuffer(bundle))
"""


def test_bun11_the_original_reads_ours(in_original: InOriginal, tmp_path: Path) -> None:
    made = BundledProgram(*get_common_executorch_program())
    path = tmp_path / "model.bpte"
    path.write_bytes(serialize_from_bundled_program_to_flatbuffer(made))
    assert "read" in in_original("-c", READ, path)


def test_bun12_ours_reads_the_originals(in_original: InOriginal, tmp_path: Path) -> None:
    """Our runtime runs it and finds the results that the original bundled."""
    path = tmp_path / "model.bpte"
    in_original("-c", WRITE, path)
    data = path.read_bytes()
    read = deserialize_from_flatbuffer_to_bundled_program(data)
    assert deserialize_from_flatbuffer_to_bundled_program(serialize_from_bundled_program_to_flatbuffer(read)) == read
    for content in (data, serialize_from_bundled_program_to_flatbuffer(read)):
        bundle = _load_bundled_program_from_buffer(content)
        module = _load_for_executorch_from_bundled_program(bundle)
        for suite in read.method_test_suites:
            for case in range(len(suite.test_cases)):
                module.verify_result_with_bundled_expected_output(bundle, suite.method_name, case)
