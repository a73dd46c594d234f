# SPDX-License-Identifier: BSD-3-Clause
"""Models the cycles of a call: llvm-mca on each block as a loop over it, weighted by the count. All loads hit the first
cache, and no branch is mispredicted."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from bench.arm.counting import CACHE, Counts

SHARE = 0.95
"""Blocks with this fraction of the instructions are modelled. The other instructions are assumed to take as many cycles
each."""
ITERATIONS = 100
TRIPLE = "aarch64"
ONE_VECTOR_A_CYCLE = ("cortex-a55",)
"""Processors that start one 128-bit operation per cycle, as Arm's optimization guide says; LLVM's model starts two."""
ADDRESSES_AT_ONCE = ("cortex-a55",)
"""Processors on which the address that a load or store writes back is available in the next cycle; in LLVM's model it
is available when the load is done."""
_UPDATE = re.compile(r"\], (?:#-?\d+|x\d+)$|(?<=\])!$")
_VECTOR = re.compile(r"(?!ld|st).*\.(?:16b|8h|4s|2d)\b")
_AT_A_TIME = 200  # blocks in a call of llvm-mca


@cache
def tool(name: str) -> str:
    """An LLVM program of version 19 or newer."""
    for version in (19, 20, 21, 22):
        if found := shutil.which(f"{name}-{version}"):
            return found
    raise ValueError(f"expected {name}-19 or newer; install it: apt-get install llvm-19")


def cycles(counts: Counts, model: str) -> float:
    """The modelled cycles of a call. `model` is llvm-mca's name of the processor."""
    blocks = counts.most(SHARE)
    found = of_blocks([block.code for block in blocks], model)
    modelled = sum(block.instructions for block in blocks if block.code in found)
    if not modelled:
        return 0.0
    return sum(found[b.code] * b.count for b in blocks if b.code in found) * counts.instructions / modelled


def of_blocks(codes: list[str], model: str) -> dict[str, float]:
    """The cycles that an execution of each block takes in steady state; without the blocks that llvm-mca refuses."""
    kept = _Kept(model)
    missing = [code for code in dict.fromkeys(codes) if code not in kept.cycles]
    texts = disassemble([word for code in missing for word in code.split()])
    for start in range(0, len(missing), _AT_A_TIME):
        kept.cycles.update(_analysed(missing[start : start + _AT_A_TIME], texts, model))
    if missing:
        kept.write()
    return {code: value for code in codes if (value := kept.cycles.get(code)) is not None}


class _Kept:
    """The cycles that were computed before, in a file for each model."""

    def __init__(self, model: str) -> None:
        version = subprocess.run([tool("llvm-mca"), "--version"], capture_output=True, check=True).stdout
        key = hashlib.sha256(version + Path(__file__).read_bytes()).hexdigest()[:16]
        self.path = CACHE / "cycles" / f"{model}-{key}.json"
        self.cycles: dict[str, float | None] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.cycles))


def disassemble(words: list[str]) -> dict[str, str]:
    """The assembly of each word of code; without those that are not instructions."""
    unique = list(dict.fromkeys(words))
    lines = [" ".join(f"0x{word[i : i + 2]}" for i in (6, 4, 2, 0)) for word in unique]
    command = [tool("llvm-mc"), "--disassemble", f"--triple={TRIPLE}", "--mattr=+all"]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True)
    invalid = {int(number) - 1 for number in re.findall(r"^<stdin>:(\d+):", done.stderr, re.MULTILINE)}
    texts = [line.split("//")[0].strip().replace("\t", " ") for line in done.stdout.splitlines()]
    texts = [text for text in texts if text and text != ".text"]
    valid = [word for index, word in enumerate(unique) if index not in invalid]
    if len(valid) != len(texts):
        raise ValueError(f"expected {len(valid)} lines from {command[0]}, found {len(texts)}")
    return dict(zip(valid, texts, strict=True))


def _analysed(codes: list[str], texts: dict[str, str], model: str) -> dict[str, float | None]:
    """Cycles of one iteration by block; None for a block without an instruction that the model has."""
    regions = []
    for index, code in enumerate(codes):
        body = [texts[word] for word in code.split() if word in texts]
        if model in ADDRESSES_AT_ONCE:
            body = [_UPDATE.sub(lambda found: "]" if found[0] != "!" else "", text) for text in body]
        regions += [f"# LLVM-MCA-BEGIN {index}", *body, f"# LLVM-MCA-END {index}"]
    command = [tool("llvm-mca"), f"--mtriple={TRIPLE}", f"--mcpu={model}", "--mattr=+all", "--json"]
    command += [f"--iterations={ITERATIONS}", "--skip-unsupported-instructions=any"]
    done = subprocess.run(command, input="\n".join(regions) + "\n", capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"llvm-mca ends with {done.returncode}: {done.stderr[-300:]}")
    found: dict[str, float | None] = dict.fromkeys(codes)
    for region in json.loads(done.stdout)["CodeRegions"]:
        code = codes[int(region["Name"])]
        found[code] = region["SummaryView"]["TotalCycles"] / ITERATIONS
        if model in ONE_VECTOR_A_CYCLE:
            vectors = sum(bool(_VECTOR.match(texts.get(word, ""))) for word in code.split())
            found[code] = max(found[code] or 0.0, float(vectors))
    return found
