# SPDX-License-Identifier: BSD-3-Clause
"""Vela's debug database: from which operator each command was made, and how long Vela expects it to take.

It is tables of comma-separated values within XML. `queue` has the offset of the last command of each scheduled
operator, `perf` the cycles of each, and `source` the operators of the file that Vela read.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

from sdk.backends.arm.ethosu.command_stream import COMPUTES, DMA, words_of

_TABLE = re.compile(r'<table name="(\w+)">\s*<!\[CDATA\[\n(.*?)\]\]>', re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A command that computes or copies.

    Attributes:
        source: The number of the operator in the file that Vela read; None if Vela added the command.
        cycles: The operator's cycles, divided evenly among the commands that compute it. A copy has 0: its time is part
            of the operator for which it copies.
    """

    source: int | None
    cycles: int


def read_commands(commands: bytes, database: str) -> list[Command]:
    """The commands of a stream, in their order. Raises ValueError or KeyError for a stream or a database of another
    form."""
    tables = {name: list(csv.DictReader(io.StringIO(text))) for name, text in _TABLE.findall(database)}
    found = _places(commands)
    queue = sorted((int(row["offset"]), row["scheduled_id"]) for row in tables["queue"])
    ends = [offset for offset, _ in queue]
    if found and not queue:
        raise ValueError(f"its queue has no work, and the stream has {len(found)} commands")
    # The queue has each operator's last command. Commands up to it belong to the operator; any after the last entry
    # belong to the last operator.
    jobs = [queue[min(bisect_left(ends, place), len(queue) - 1)][1] for place, _ in found]
    members: dict[str, list[int]] = defaultdict(list)
    for number, (job, (_, is_copy)) in enumerate(zip(jobs, found, strict=True)):
        if not is_copy:
            members[job].append(number)
    cycles, sources = [0] * len(found), {}
    keys = {row["id"]: int(row["ext_key"]) for row in tables["source"]}
    waiting = 0
    last: list[int] = []
    for row in tables["perf"]:
        sources[row["id"]] = keys.get(row["source_id"])
        waiting += int(row["op_cycles"])
        # Operators that were fused into another operator have no commands.
        last = members[row["id"]] or last
        if last:
            _share(cycles, last, waiting)
            waiting = 0
    if waiting:
        raise ValueError(f"{waiting} cycles belong to no command")
    return [Command(sources[job], count) for job, count in zip(jobs, cycles, strict=True)]


def _share(cycles: list[int], members: list[int], amount: int) -> None:
    """Adds an amount to the cycles of commands, so that the sum is exact."""
    each, rest = divmod(amount, len(members))
    for position, number in enumerate(members):
        cycles[number] += each + (position < rest)


def _places(commands: bytes) -> list[tuple[int, bool]]:
    """For each command that computes or copies, its offset in bytes in the stream, and whether it copies."""
    return [
        (place, code == DMA)
        for place, code, _, second in words_of(commands)
        if second is None and (code == DMA or code in COMPUTES)
    ]
