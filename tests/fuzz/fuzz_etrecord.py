# SPDX-License-Identifier: BSD-3-Clause
"""Usage: fuzz_etrecord.py SECONDS FOLDER [SEED]: reads hostile ETRecords.

Files that find a fault stay in FOLDER. It prints how many files were read and what they were, and fails if one took
more than 20 seconds of CPU, more than 256 MiB of memory or 512 KiB of stack, raised an exception that is not
documented, or executed a command.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "python/devtools"))

from etrecord_mutations import forbid, hostile_record, read, whole, written
from python_driver import drive


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")
    read(written(whole()))  # what is loaded on first use
    forbid()
    return drive(hostile_record, lambda path: read(path.read_bytes()), ".etrecord", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
