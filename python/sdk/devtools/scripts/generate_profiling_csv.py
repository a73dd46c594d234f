# SPDX-License-Identifier: BSD-3-Clause
"""The events of an ETDump with their times, as a CSV file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sdk.command import check_writable, existing, write_bytes
from sdk.command.tools import run_tool
from sdk.devtools.inspector import Inspector
from sdk.exir._serialize._files import write_atomically


def generate_csv(etdump_path: str | os.PathLike[str], output: str | os.PathLike[str]) -> None:
    """Writes the table of `Inspector.to_dataframe` to the file `output`."""
    write_atomically(Path(output), _csv(etdump_path))


def _csv(etdump_path: str | os.PathLike[str]) -> bytes:
    return Inspector(etdump_path=os.fspath(etdump_path)).to_dataframe().to_csv().encode()


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0, or 1 after one line on stderr if a file cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m sdk.devtools.scripts.generate_profiling_csv", description=__doc__)
    parser.add_argument("--etdump_path", default="./model.etdump", help="the ETDump that the runtime wrote")
    parser.add_argument("--output", default="./model_profiling.csv", help="the file to write")
    options = parser.parse_args(arguments)
    return run_tool(lambda: _write(Path(options.etdump_path), Path(options.output)))


def _write(etdump: Path, output: Path) -> None:
    check_writable([output])
    write_bytes(output, _csv(existing(etdump)))
    print(f"wrote {output}")


if __name__ == "__main__":
    sys.exit(main())
