# SPDX-License-Identifier: BSD-3-Clause
"""Usage: fuzz_gguf.py SECONDS FOLDER [SEED]: reads hostile GGUF files for so long.

Those that find something stay in FOLDER. It prints how many files were read and what they were, and fails if one took
more than 20 seconds of CPU or 4 GiB of memory, or raised an exception that is not documented.
"""

from __future__ import annotations

import collections
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "python/llm"))

from gguf_mutations import hostile_file, read

SECONDS_A_FILE, MEMORY = 20, 4 << 30


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"the file took more than {SECONDS_A_FILE} seconds of CPU")


def main(seconds: float, folder: Path, first: int) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGPROF, _too_long)
    path, results, found = folder / "now.gguf", collections.Counter[str](), collections.Counter[str]()
    end, seed = time.monotonic() + seconds, first
    while time.monotonic() < end:
        # A crash of the process leaves the file.
        path.write_bytes(hostile_file(random.Random(seed)))
        signal.setitimer(signal.ITIMER_PROF, SECONDS_A_FILE)
        try:
            results[" and ".join(sorted(read(path))) or "refused"] += 1
        except Exception as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} {Path(at.filename).name}:{at.lineno}"
            if not found[where]:
                path.rename(folder / f"{seed}.gguf")
                print(f"seed {seed}, {where}: {str(error)[:300]}", flush=True)
            found[where] += 1
        signal.setitimer(signal.ITIMER_PROF, 0)
        seed += 1
    path.unlink(missing_ok=True)
    print(f"{seed - first} files in {time.process_time():.0f} s of CPU: {dict(results)}, found: {dict(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0))
