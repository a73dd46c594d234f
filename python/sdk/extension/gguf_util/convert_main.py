# SPDX-License-Identifier: BSD-3-Clause
"""Converts a GGUF file: `python -m sdk.extension.gguf_util.convert_main --gguf_file FILE --pte_file FILE`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._files import write_atomically
from sdk.extension.gguf_util.converter import convert_to_pte
from sdk.extension.gguf_util.load_gguf import load_file


def save_pte_program(program: bytes, pte_file: str) -> None:
    """Writes a program, completely or, after an error, not at all."""
    write_atomically(Path(pte_file), Cord(program))


def main() -> None:
    """Exits with status 2 and one line on stderr for a file that cannot be converted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf_file", required=True, help="the model")
    parser.add_argument("--pte_file", required=True, help="the program to write")
    arguments = parser.parse_args()
    try:
        save_pte_program(convert_to_pte(*load_file(arguments.gguf_file)), arguments.pte_file)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
