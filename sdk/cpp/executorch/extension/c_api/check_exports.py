#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails unless a shared library exports exactly the functions that the headers of the C interface declare."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

# The name of a function that a header declares, wherever the declaration's line ends.
DECLARED = re.compile(r"^ET_API [^;(]*?\b(\w+)\(", re.MULTILINE)


def declared(headers: list[Path]) -> set[str]:
    return set(DECLARED.findall("\n".join(header.read_text(encoding="utf-8") for header in headers)))


def exported(nm: str, library: Path, apple: bool) -> set[str]:
    flags = ["-gU"] if apple else ["-D", "--defined-only"]
    listing = subprocess.run([nm, *flags, str(library)], check=True, capture_output=True, text=True).stdout
    found = set()
    for line in listing.splitlines():
        fields = line.split()
        # The version itself is an absolute symbol.
        if len(fields) == 3 and fields[1] != "A":
            found.add(fields[2].split("@")[0].removeprefix("_" if apple else ""))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", default="nm", help="the nm of the toolchain")
    parser.add_argument("headers", type=Path, nargs="+")
    parser.add_argument("library", type=Path)
    args = parser.parse_args()
    wanted = declared(args.headers)
    found = exported(args.nm, args.library, args.library.suffix == ".dylib")
    for name in sorted(wanted - found):
        print(f"the headers declare {name}, which {args.library.name} does not export")
    for name in sorted(found - wanted):
        print(f"{args.library.name} exports {name}, which the headers do not declare")
    print(f"{len(wanted)} functions are declared, {len(found)} symbols are exported")
    return 1 if wanted != found or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
