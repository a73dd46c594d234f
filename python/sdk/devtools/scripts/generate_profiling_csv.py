# SPDX-License-Identifier: BSD-3-Clause
"""The events of an ETDump with their times, as a CSV file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from sdk.devtools.inspector import Inspector


def generate_csv(etdump_path: str | os.PathLike[str], output: str | os.PathLike[str]) -> None:
    """Writes the table of `Inspector.to_dataframe` to the file `output`."""
    Inspector(etdump_path=os.fspath(etdump_path)).to_dataframe().to_csv(output)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0, or 1 after one line on stderr if a file cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m sdk.devtools.scripts.generate_profiling_csv", description=__doc__)
    parser.add_argument("--etdump_path", default="./model.etdump", help="the ETDump that the runtime wrote")
    parser.add_argument("--output", default="./model_profiling.csv", help="the file to write")
    options = parser.parse_args(arguments)
    try:
        generate_csv(options.etdump_path, options.output)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
