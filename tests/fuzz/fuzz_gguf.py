# SPDX-License-Identifier: BSD-3-Clause
"""Usage: fuzz_gguf.py SECONDS FOLDER [SEED]: reads hostile GGUF files.

Files that find a fault stay in FOLDER. It prints how many files were read and what they were, and fails if one took
more than 20 seconds of CPU, more than 256 MiB of memory or 512 KiB of stack, or raised an exception that is not
documented.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "python/llm"))

from gguf_mutations import hostile_file, read
from python_driver import drive

if __name__ == "__main__":
    sys.exit(drive(hostile_file, lambda path: " and ".join(sorted(read(path))) or "refused", ".gguf", sys.argv[1:]))
