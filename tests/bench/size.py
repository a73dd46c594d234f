# SPDX-License-Identifier: BSD-3-Clause
"""Bytes of the runtime: of tests/size, the least that loads and runs a model, without kernels or messages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

KIB = 1024
SECTIONS = (".text", ".rodata", ".ARM.exidx", ".eh_frame", ".init_array", ".data.rel.ro")


@dataclass(frozen=True)
class Target:
    """A processor, the preset for it, and the largest text that is acceptable."""

    name: str
    preset: str
    tools: str  # what the names of the binary tools begin with
    limit: int


TARGETS = (
    Target("x86_64", "size", "", 40 * KIB),
    Target("Cortex-M4", "arm-baremetal", "arm-none-eabi-", 24 * KIB),
)


@dataclass
class Size:
    """Text of the program: code and constants. `model` bytes of it are the embedded program."""

    target: Target
    text: int
    model: int
    libraries: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)

    @property
    def runtime(self) -> int:
        return self.text - self.model

    @property
    def fits(self) -> bool:
        return self.runtime <= self.target.limit


def read_map(text: str) -> tuple[Counter[str], Counter[str]]:
    """Bytes by library and by input section (a function or a constant) that GNU ld kept in read-only memory."""
    libraries: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    _, _, kept = text.partition("Linker script and memory map")
    # A long name of a section stands on a line of its own.
    joined = re.sub(r"^ (\.\S+)\n\s+(0x)", r" \1 \2", kept, flags=re.M)
    for name, address, size, origin in re.findall(r"^ (\.\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$", joined, re.M):
        if int(address, 16) == 0 or not name.startswith(SECTIONS):
            continue
        archive = re.search(r"([^/]+\.a)\(", origin)
        libraries[archive[1] if archive else "the program"] += int(size, 16)
        parts[re.sub(r"^\.(text|rodata|data\.rel\.ro)\.?", "", name) or name] += int(size, 16)
    return libraries, parts


def demangle(tools: str, names: list[str]) -> list[str]:
    done = subprocess.run([f"{tools}c++filt"], input="\n".join(names), text=True, stdout=subprocess.PIPE, check=True)
    return done.stdout.splitlines()


def measure(root: Path, target: Target) -> Size:
    folder = root / "build" / "size" / target.preset
    configure = ["cmake", "--preset", target.preset, "-B", str(folder), f"-DPython3_EXECUTABLE={sys.executable}"]
    build = ["cmake", "--build", str(folder), "--target", "size_test", "--parallel", str(os.cpu_count() or 1)]
    for command in (configure, build):
        done = subprocess.run(command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise RuntimeError(f"`{' '.join(command)}` failed:\n{done.stdout[-2000:]}")
    binary = folder / "tests" / "size" / "size_test"
    columns = subprocess.run([f"{target.tools}size", str(binary)], text=True, stdout=subprocess.PIPE, check=True).stdout
    libraries, parts = read_map(binary.with_suffix(".map").read_text(errors="replace"))
    model = (root / "tests/size/identity.pte").stat().st_size
    return Size(target, int(columns.splitlines()[1].split()[0]), model, libraries, parts)


def report(size: Size) -> str:
    """A few lines: the whole, by library, and the ten largest functions."""
    lines = [
        f"{size.target.name}: {size.runtime:,} bytes of text (at most {size.target.limit:,}), "
        f"and {size.model} of the embedded program"
    ]
    lines += [f"  {count:7,}  {name}" for name, count in size.libraries.most_common()]
    lines.append("  the largest ten:")
    largest = size.parts.most_common(10)
    for (_, count), name in zip(largest, demangle(size.target.tools, [name for name, _ in largest]), strict=True):
        lines.append(f"  {count:7,}  {name.split('(')[0] if not name.startswith('(') else name}")
    return "\n".join(lines)


def main(root: Path) -> int:
    status = 0
    for target in TARGETS:
        if target.tools and shutil.which(f"{target.tools}g++") is None:
            print(f"{target.name}: not measured, {target.tools}g++ is missing")
            continue
        size = measure(root, target)
        print(report(size))
        status |= not size.fits
    return status
