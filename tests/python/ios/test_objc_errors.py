# SPDX-License-Identifier: BSD-3-Clause
"""The error codes of the Objective-C classes equal those of the common table."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_codes_are_those_of_the_table() -> None:
    header = (ROOT / "sdk/ios/Sources/ExecuTorchObjC/include/ExecuTorchError.h").read_text()
    found = re.findall(r"ExecuTorchErrorCode(\w+) = (0x\w+),", header)
    assert {name: int(code, 16) for name, code in found} == json.loads((ROOT / "tests/data/errors.json").read_text())[
        "codes"
    ]
