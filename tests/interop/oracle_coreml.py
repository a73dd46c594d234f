# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the original's environment: packs folders for Core ML, and unpacks payloads, with its own module.

    python oracle_coreml.py WORK

Each folder of WORK/folders is packed to WORK/theirs, and each payload of WORK/ours is unpacked into a folder of its
name in WORK/unpacked.
"""

from __future__ import annotations

import sys
from pathlib import Path

from executorch.backends.apple.coreml import executorchcoreml


def main() -> None:
    work = Path(sys.argv[1])
    for folder in ("theirs", "unpacked"):
        (work / folder).mkdir()
    for folder in sorted((work / "folders").iterdir()):
        (work / "theirs" / folder.name).write_bytes(executorchcoreml.flatten_directory_contents(str(folder)))
    for payload in sorted((work / "ours").iterdir()):
        target = work / "unpacked" / payload.name
        target.mkdir()
        if not executorchcoreml.unflatten_directory_contents(payload.read_bytes(), str(target)):
            raise SystemExit(f"the original does not unpack {payload}")


if __name__ == "__main__":
    main()
