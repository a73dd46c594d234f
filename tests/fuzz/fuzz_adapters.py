# SPDX-License-Identifier: BSD-3-Clause
"""Usage: fuzz_adapters.py SECONDS FOLDER [SEED]: makes files of hostile LoRA adapters.

Files that find a fault stay in FOLDER, with their program, as `adapter_mutations.joined()` packs them. It fails if
one took more than 20 seconds of CPU, more than 256 MiB of memory or 512 KiB of stack, raised an exception that is not
documented, or executed a command.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "python/llm"))

from adapter_mutations import hostile_file, read
from python_driver import drive

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(drive(hostile_file, read, ".adapter", sys.argv[1:]))
