# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of a call under QEMU, without start and loading. A process makes three calls; the count is
half of the instructions of the second and third one. A program that does not mark these calls runs twice, with three
calls and with one, and the counts are subtracted."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.arm.processors import Processor
from bench.engines import ImpossibleError
from bench.worker import ROOT

SOURCE = Path(__file__).with_name("counter.c")
CACHE = ROOT / ".cache/arm"
CALLS = (1, 3)
LONGEST_SECONDS = 3600  # of CPU time: a busy machine takes longer
WORD = 4  # bytes of an instruction
JUMPS = (
    (0x7C000000, 0x14000000),  # b, bl
    (0xFE000000, 0x54000000),  # b.cond
    (0x7C000000, 0x34000000),  # cbz, cbnz, tbz, tbnz
    (0xFE000000, 0xD6000000),  # br, blr, ret
    (0xFF000000, 0xD4000000),  # svc and other exceptions
)
"""Masks of the instructions after which a block ends, and their remaining bits."""
PLACE = "{calls}"  # placeholder in a command for the number of calls


@dataclass(frozen=True)
class Block:
    """A sequence of instructions that runs from its first to its last.

    Attributes:
        code: The instructions' words in hexadecimal, separated by spaces.
        count: How often a call runs it.
        symbol: The function that has it in the program itself; "-" in a library.
    """

    code: str
    count: float
    symbol: str

    @property
    def size(self) -> int:
        return self.code.count(" ") + 1

    @property
    def instructions(self) -> float:
        return self.count * self.size


@dataclass(frozen=True)
class Counts:
    """The instructions that a call runs.

    Attributes:
        blocks: The blocks, most instructions first.
        decibels: The signal of the result over its difference from the expected one.
    """

    blocks: tuple[Block, ...]
    decibels: float

    @property
    def instructions(self) -> float:
        return sum(block.instructions for block in self.blocks)

    def most(self, share: float) -> list[Block]:
        """The blocks that together make `share` of the instructions."""
        found, left = [], share * self.instructions
        for block in self.blocks:
            if left <= 0:
                break
            found.append(block)
            left -= block.instructions
        return found


def plugin() -> Path:
    """The compiled plugin."""
    source = SOURCE.read_bytes()
    path = CACHE / f"counter-{hashlib.sha256(source).hexdigest()[:16]}.so"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(f".{os.getpid()}")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(made), str(SOURCE)], check=True)
        made.rename(path)
    return path


def read(path: Path) -> dict[str, tuple[int, str]]:
    """The count and the symbol of each code in a file of the plugin. Copies at several addresses are one: QEMU may load
    a library elsewhere in another process."""
    found: dict[str, tuple[int, str]] = {}
    for count, symbol, code in joined([line.split(" ", 3) for line in path.read_text().splitlines()]):
        found[code] = (found.get(code, (0, ""))[0] + count, symbol)
    return found


def joined(lines: list[list[str]]) -> Iterator[tuple[int, str, str]]:
    """Count, symbol and code of each block. A block that does not end with a jump and the one after it are one if they
    run equally often: QEMU has divided a longer one. The model of cycles takes a block as the body of a loop."""
    at: dict[int, list[int]] = {}
    for index, line in enumerate(lines):
        at.setdefault(int(line[0], 16), []).append(index)
    after: dict[int, int] = {}
    for index, (address, count, _, code) in enumerate(lines):
        next_to = at.get(int(address, 16) + WORD * (code.count(" ") + 1), [])
        if not ends_with_jump(code):
            after.update((index, part) for part in next_to if lines[part][1] == count)
    parts = set(after.values())
    for index in range(len(lines)):
        if index not in parts:
            _, count, symbol, code = lines[index]
            while (index := after.get(index, -1)) >= 0:
                code = f"{code} {lines[index][3]}"
            yield int(count), symbol, code


def ends_with_jump(code: str) -> bool:
    """Whether the last instruction may continue elsewhere."""
    word = int(code[-2 * WORD :], 16)
    return any(word & mask == bits for mask, bits in JUMPS)


def difference(one: dict[str, tuple[int, str]], three: dict[str, tuple[int, str]]) -> tuple[Block, ...]:
    """The blocks of a call."""
    calls = CALLS[1] - CALLS[0]
    blocks = [
        Block(code, (count - one.get(code, (0, ""))[0]) / calls, symbol) for code, (count, symbol) in three.items()
    ]
    # A count is negative if start or loading runs that code a different number of times, as when waiting for a lock.
    return tuple(sorted((b for b in blocks if b.count > 0), key=lambda b: -b.instructions))


@dataclass(frozen=True)
class Command:
    """A program of the emulated system.

    Attributes:
        arguments: PLACE is replaced by the number of calls.
        marks: Whether the program marks all calls but the first, as counter.c says.
        packages: The folder of Python's packages.
        libraries: The folder of the program's own libraries.
        depends: What the counts depend on besides the processor. Counts are kept under its digest.
    """

    arguments: list[str]
    depends: list[bytes]
    packages: Path | None = None
    libraries: Path | None = None
    marks: bool = False

    def key(self, processor: Processor) -> str:
        """The digest of everything that the counts depend on."""
        digest = hashlib.sha256()
        for part in (SOURCE.read_bytes(), processor.qemu.encode(), processor.cpuinfo.encode(), *self.depends):
            digest.update(hashlib.sha256(part).digest())
        return digest.hexdigest()


def count(command: Command, processor: Processor, system: Path, check: Callable[[], float]) -> Counts:
    """Counts a call, or reads the counts of an earlier one from CACHE.

    Args:
        system: The folder with the program's libraries, and its /proc/cpuinfo.
        check: Called when the program has made one call; returns the decibels of its result, and raises
            ImpossibleError if that is wrong.
    """
    path = CACHE / "counts" / f"{command.key(processor)}.json"
    if path.exists():
        kept = json.loads(path.read_text())
        return Counts(tuple(Block(*block) for block in kept["blocks"]), kept["decibels"])
    counts = _counted(command, processor, system, check)
    blocks = [(block.code, block.count, block.symbol) for block in counts.blocks]
    keep(path, json.dumps({"decibels": counts.decibels, "blocks": blocks}))
    return counts


def _counted(command: Command, processor: Processor, system: Path, check: Callable[[], float]) -> Counts:
    files = []
    decibels = None
    with tempfile.TemporaryDirectory() as folder:
        for calls in CALLS[1:] if command.marks else CALLS:
            files.append(Path(folder) / f"{calls}.txt")
            run(command, calls, processor, system, files[-1])
            decibels = check() if decibels is None else decibels
        assert decibels is not None
        return Counts(difference(*([{}] if command.marks else []), *(read(file) for file in files)), decibels)


def keep(path: Path, text: str) -> None:
    """Writes the file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(f".{os.getpid()}")
    made.write_text(text)
    made.rename(path)


def run(command: Command, calls: int, processor: Processor, system: Path, output: Path) -> None:
    """Runs the program in the emulator, on one core, so that no thread spins while another works."""
    core = str(max(os.sched_getaffinity(0)))
    emulator = ["qemu-aarch64", "-cpu", processor.qemu, "-plugin", f"{plugin()},out={output}", "-L", str(system)]
    if command.libraries:  # for the emulated program; the emulator does not search it
        emulator += ["-E", f"LD_LIBRARY_PATH={command.libraries}"]
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = str(command.packages or "")
    done = subprocess.run(
        ["taskset", "-c", core, *emulator, *(each.replace(PLACE, str(calls)) for each in command.arguments)],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_SECONDS, LONGEST_SECONDS + 1)),
    )
    if done.returncode == -signal.SIGXCPU:
        raise ImpossibleError(f"it does not end in {LONGEST_SECONDS} s in the emulator")
    if done.returncode or not output.exists():
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise ImpossibleError(f"it ends with {done.returncode} in the emulator: {lines[-1] if lines else 'no message'}")
