# SPDX-License-Identifier: BSD-3-Clause
"""Usage: fuzz_wrapped_names.py SECONDS FOLDER [SEED]: writes wrappers of programs with hostile names.

The names are those of methods, inputs, the program's file and its data file. Lists of names that find a fault stay in
FOLDER. It prints how many lists there were, and fails if one took more than 20 seconds of CPU, more than 256 MiB of
memory or 512 KiB of stack, or if a wrapper in Kotlin, Swift or C++ declares anything else than one of plain names.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "python/wrappers"))

from hostile_names import random_names
from python_driver import drive
from wrapped_names import check

from sdk.export.wrappers import LANGUAGES


def read(path: Path) -> str:
    names = json.loads(path.read_bytes())
    for language in LANGUAGES:
        check(names, language)
    return "wrapped"


if __name__ == "__main__":
    sys.exit(drive(lambda draw: json.dumps(random_names(draw, 12)).encode(), read, ".json", sys.argv[1:]))
