# SPDX-License-Identifier: BSD-3-Clause
"""Vela's debug database: from which operator each command was made, and how long Vela expects it to take.

It is tables of comma-separated values within XML. `queue` has the place of the last command of each piece of work,
`perf` the cycles of a scheduled operator, and `source` the operators of the file that Vela read.
"""

from __future__ import annotations

import csv
import io
import re
import struct
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

_TABLE = re.compile(r'<table name="(\w+)">\s*<!\[CDATA\[\n(.*?)\]\]>', re.DOTALL)
_MAGIC = b"COP1"
_CONFIGURE, _STREAM, _NOTHING = 1, 2, 5  # actions of the driver
_DMA = 0x010
_COMPUTES = {0x002, 0x003, 0x005, 0x006, 0x007}  # convolution, depthwise, pool, elementwise, resize


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
    # Copies come before the work for which they are; of others, the last work has what follows it.
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
        # What became part of another operator has no commands.
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
    """For each command that computes or copies, its byte after the begin of the stream, and whether it copies."""
    words = struct.unpack(f"<{len(commands) // 4}I", commands[: len(commands) // 4 * 4])
    if commands[:4] != _MAGIC:
        raise ValueError("the commands do not begin with COP1")
    places = []
    at = 1
    while at < len(words):
        action = words[at] & 0xFF
        length = words[at] >> 16 | (words[at] >> 8 & 0xFF) << 16
        at += 3 if action == _CONFIGURE else 1
        if action not in (_CONFIGURE, _STREAM, _NOTHING):
            raise ValueError(f"the driver's action {action} is not known")
        if action != _STREAM:
            continue
        start = at
        while at < start + length:
            code, has_second = words[at] & 0x3FF, words[at] >> 14 & 3 == 1
            if not has_second and (code == _DMA or code in _COMPUTES):
                places.append((4 * (at - start), code == _DMA))
            at += 2 if has_second else 1
    return places
