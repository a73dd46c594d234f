# SPDX-License-Identifier: BSD-3-Clause
"""The blocks with the most instructions of a call, for those who optimize kernels."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator

from bench.arm.counting import Block, Counts
from bench.arm.cycles import disassemble, of_blocks
from bench.arm.processors import Processor

_SPILL = re.compile(r"(?:ld|st)(?:r|p|ur) q.*\[sp\b")
_SHOWN = 6
_COMMON = 12


def hottest(counts: Counts, processor: Processor, number: int) -> Iterator[str]:
    """A line for each block, then the most common instructions of a call."""
    blocks = list(counts.blocks[:number])
    cycles = of_blocks([block.code for block in blocks], processor.model)
    names = _demangled(blocks)
    for block, name in zip(blocks, names, strict=True):
        texts = _assembly(block)
        spills = sum(bool(_SPILL.match(text)) for text in texts)
        share = block.instructions / counts.instructions
        cost = f"{cycles[block.code]:.1f} cycles" if block.code in cycles else "cycles not modelled"
        stack = f", {spills} vectors to or from the stack" if spills else ""
        shown = "; ".join(texts[:_SHOWN]) + ("; ..." if len(texts) > _SHOWN else "")
        yield f"{share:6.1%}  {block.count:.0f} x {block.size} instructions, {cost}{stack}, in {name}: {shown}"
    mix: Counter[str] = Counter()
    for block in counts.most(0.99):
        for text in _assembly(block):
            mix[text.split()[0]] += round(block.count)
    yield "millions: " + ", ".join(f"{name} {count / 1e6:.1f}" for name, count in mix.most_common(_COMMON))


def _assembly(block: Block) -> list[str]:
    words = block.code.split()
    texts = disassemble(words)
    return [texts.get(word, f".inst 0x{word}") for word in words]


def _demangled(blocks: list[Block]) -> list[str]:
    names = "\n".join(block.symbol for block in blocks)
    done = subprocess.run(["c++filt"], input=names, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
