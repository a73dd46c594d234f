# SPDX-License-Identifier: BSD-3-Clause
"""Takes the VGF files out of a `.pte` program, for tools and for applications that run them without this SDK.

python -m sdk.backends.arm.vgf.extract model.pte folder
"""

from __future__ import annotations

import argparse
import sys

from sdk.backends.arm.vgf.model_converter import MAGIC
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir._serialize._regular_file import read_file
from sdk.util.paths import file_path

BACKEND_ID = "VgfBackend"


def files_of(program: bytes) -> dict[str, bytes]:
    """The VGF files of a program, by the names `<method>_<number of the delegate>.vgf`.

    Raises ValueError if the program is damaged or a payload is not a VGF file.
    """
    file = deserialize_pte_binary(program)
    found = {}
    for plan in file.program.execution_plan:
        for number, delegate in enumerate(plan.delegates):
            if delegate.id != BACKEND_ID:
                continue
            payload = bytes(file.program.backend_delegate_data[delegate.processed.index].data)
            if not payload.startswith(MAGIC):
                raise ValueError(f"delegate {number} of {plan.name} is not a VGF file: it begins with {payload[:4]!r}")
            found[f"{plan.name}_{number}.vgf"] = payload
    return found


def main(arguments: list[str] | None = None) -> int:
    """Writes the files of a program to a folder, which is made if it is missing. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sdk.backends.arm.vgf.extract", description=__doc__)
    parser.add_argument("program", type=file_path, help="a .pte file")
    parser.add_argument("folder", type=file_path, help="where the VGF files are written")
    options = parser.parse_args(arguments)
    try:
        files = files_of(read_file(options.program))
        if not files:
            raise ValueError(f"the program has no delegate of {BACKEND_ID}: export it with the VgfPartitioner")
        options.folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (options.folder / name).write_bytes(data)
            print(f"{options.folder / name}  {len(data)} bytes")
    except (OSError, ValueError) as error:
        print(f"error: {options.program}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
