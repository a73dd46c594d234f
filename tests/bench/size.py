# SPDX-License-Identifier: BSD-3-Clause
"""Measures the size of the runtime: of tests/size, the smallest program that loads and runs a model, without kernels or
messages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from codegen.link_map import pieces  # noqa: E402
from codegen.size import as_table  # noqa: E402
from codegen.size import measure as measure_selection  # noqa: E402

KIB = 1024


@dataclass(frozen=True)
class Target:
    """A processor, its preset, and the limit for the text section."""

    name: str
    preset: str
    tools: str  # the prefix of the names of the binary tools
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


@dataclass(frozen=True)
class Selective:
    """A build for the operators and dtypes of one model on x86_64, and its size limit."""

    name: str
    selection: str  # a program, or the selection that was derived from one
    kernels: int
    total: int


SELECTIVE = (
    Selective("add", "tests/data/corpus/add/model.pte", 8 * KIB, 45 * KIB),
    Selective("MobileNetV2", "tests/size/mobilenet_v2.yaml", 60 * KIB, 100 * KIB),
)
# The only libraries that such a program may link.
PARTS = ("runtime", "the program", "kernels", "libc.a", "libgcc.a", "libm.a")


def selective_problems(root: Path, build: Selective) -> list[str]:
    """Builds it, prints the table, and reports sizes above their limits and libraries that are linked unnecessarily."""
    folder = root / "build" / "size" / f"selective-{build.name.lower()}"
    sizes = measure_selection([root / build.selection], root, folder)
    print(f"{build.name}, with the kernels that it uses:\n{as_table(sizes)}\n")
    problems = [name for name in sizes.parts if sizes.parts[name] and not name.startswith(PARTS)]
    problems = [f"{name} is linked" for name in problems]
    for what, size, limit in (("kernels", sizes.kernels, build.kernels), ("all", sizes.total, build.total)):
        if size > limit:
            problems.append(f"{what} weigh {size:,} bytes, at most {limit:,} were expected")
    return [f"{build.name}: {problem}" for problem in problems]


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
    libraries: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for piece in pieces(binary.with_suffix(".map").read_text(errors="replace")):
        libraries[piece.library or "the program"] += piece.size
        parts[piece.symbol] += piece.size
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
    for build in SELECTIVE:
        for problem in selective_problems(root, build):
            print(problem)
            status = 1
    return status
