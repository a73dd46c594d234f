#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the sizes of Android libraries as a Markdown table: stripped, and compressed as a store delivers them.

    sdk/android/sizes.py aar-out/executorch.aar "another one"=libexecutorch.so

For an AAR, each native library and its classes; for any other file, the file itself, which is stripped first.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from check_aar import MACHINES

# llvm-strip handles all processors.
STRIPPERS = ("llvm-strip", *(f"llvm-strip-{version}" for version in range(21, 13, -1)), "strip")


@dataclass(frozen=True)
class Size:
    """The sizes of one file, in bytes."""

    name: str
    abi: str
    stripped: int
    compressed: int


def compressed_size(data: bytes) -> int:
    """The size in bytes after zip's deflate at its highest level."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return len(packer.compress(data)) + len(packer.flush())


def abi_of(name: str, elf: bytes) -> str:
    if elf[:4] != b"\x7fELF" or len(elf) < 20:
        raise ValueError(f"expected a shared library or an AAR, found neither: {name}")
    machine = struct.unpack_from("<H", elf, 18)[0]
    return next((abi for abi, number in MACHINES.items() if number == machine), f"machine {machine}")


def stripped(path: Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / path.name
        for tool in filter(shutil.which, STRIPPERS):
            done = subprocess.run([tool, "--strip-unneeded", "-o", result, path], capture_output=True, check=False)
            if done.returncode == 0:
                return result.read_bytes()
    raise ValueError(f"found no tool that strips {path}: llvm-strip does, whatever machine it is for")


def measure(name: str, path: Path) -> list[Size]:
    """The contents of `path`. Raises ValueError if it is neither an AAR nor a library."""
    if not zipfile.is_zipfile(path):
        abi = abi_of(str(path), path.read_bytes())
        data = stripped(path)
        return [Size(name, abi, len(data), compressed_size(data))]
    sizes = []
    with zipfile.ZipFile(path) as archive:
        for member in sorted(archive.namelist()):
            if member.startswith("jni/"):
                data = archive.read(member)
                sizes.append(Size(name, abi_of(member, data), len(data), compressed_size(data)))
        if "classes.jar" in archive.namelist():
            data = archive.read("classes.jar")
            sizes.append(Size(f"{name}, classes before R8", "all", len(data), compressed_size(data)))
    if not sizes:
        raise ValueError(f"expected an AAR with jni/<ABI>/libexecutorch.so or classes.jar, found neither: {path}")
    return sizes


def table(sizes: list[Size]) -> str:
    lines = ["| library | ABI | stripped, bytes | compressed, bytes |", "|---|---|---|---|"]
    lines += [f"| {size.name} | {size.abi} | {size.stripped:,} | {size.compressed:,} |" for size in sizes]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="[NAME=]FILE", help="an AAR or a shared library")
    sizes = []
    try:
        for argument in parser.parse_args().files:
            name, given, path = argument.rpartition("=")
            sizes += measure(name if given else Path(path).name, Path(path))
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(table(sizes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
