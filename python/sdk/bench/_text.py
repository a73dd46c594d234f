# SPDX-License-Identifier: BSD-3-Clause
"""What `sdk bench` prints."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from sdk.bench._figures import Interval, Refusal
from sdk.bench._measure import Series
from sdk.command.lines import columns, printable
from sdk.util.words import counted, readable_bytes

Facts = dict[str, Any]


def facts(series: Sequence[Series], ratio: Interval | Refusal | None) -> Facts:
    """The figures as `--json` prints them. Times are in seconds. A missing figure is null, and `refused` beside it says
    why; a missing percentile needs more samples."""
    return {"programs": [_program(one) for one in series], "ratio": None if ratio is None else _interval(ratio)}


def _program(one: Series) -> Facts:
    return {
        "model": one.subject.name,
        "method": one.subject.method,
        "threads": one.threads,
        "call": {
            **_interval(one.call()),
            "min": None if isinstance(one.call(), Refusal) else min(one.samples),
            **{f"p{p:g}": None if isinstance(v := one.percentile(p), Refusal) else v for p in (10, 50, 90, 99)},
            "samples": len(one.samples),
            "calls_in_a_sample": one.batch,
            "processes": len(one.medians),
        },
        "cold_start": _start(one, True),
        "warm_start": _start(one, False),
        "memory_bytes": statistics.median(one.memory) if one.memory else None,
        "clock_step": one.tick,
    }


def _interval(found: Interval | Refusal) -> Facts:
    if isinstance(found, Refusal):
        return {"value": None, "low": None, "high": None, "refused": found.reason}
    return {"value": found.value, "low": found.low, "high": found.high, "refused": None}


def _start(one: Series, cold: bool) -> Facts:
    found: Facts = {}
    for what in ("start", "load", "first_call"):
        times = one.start(cold, what)
        if isinstance(times, Refusal):
            found[what] = {"median": None, "min": None, "max": None, "refused": times.reason}
        else:
            found[what] = {**dict(zip(("median", "min", "max"), times, strict=True)), "refused": None}
    return {**found, "starts": len(one.starts[cold])}


def text(found: Facts) -> str:
    """The figures as text, without digits that the spread makes meaningless."""
    lines = []
    for program in found["programs"]:
        call = program["call"]
        rows = []
        if call["refused"]:
            rows.append(("call", "refused", call["refused"]))
        else:
            spread = f"{_time(call['low'], call)} to {_time(call['high'], call)}"
            rows.append(("call", _time(call["value"], call), f"({spread})"))
            tails = [f"{name} {_time(call[name], call)}" for name in ("p10", "p90", "p99") if call[name] is not None]
            samples = f"{counted(call['samples'], 'sample')} of {counted(call['calls_in_a_sample'], 'call')}"
            rows.append(("", "", f"{', '.join(tails)} of {samples}" if tails else samples))
        for name in ("cold start", "warm start"):
            rows.append((name, *_start_text(program[name.replace(" ", "_")])))
        memory = program["memory_bytes"]
        rows.append(
            ("memory", "refused", "the system does not say how much memory a process has")
            if memory is None
            else ("memory", readable_bytes(memory), "above the process before it loads the program")
        )
        lines.append(
            f"{printable(program['model'])}  {printable(program['method'])}, {counted(program['threads'], 'thread')}"
        )
        lines += columns(rows)
    if found["ratio"] is not None:
        lines.append(_ratio_text(found))
    return "\n".join(lines)


def _ratio_text(found: Facts) -> str:
    ratio = found["ratio"]
    first, second = (printable(program["model"]) for program in found["programs"])
    if ratio["refused"]:
        return f"ratio  refused: {ratio['refused']}"
    digits = _digits(ratio["high"] - ratio["low"])
    shown = f"ratio  {ratio['value']:.{digits}f}  ({ratio['low']:.{digits}f} to {ratio['high']:.{digits}f})"
    if ratio["low"] <= 1 <= ratio["high"]:
        return f"{shown}: no difference between {first} and {second} can be seen"
    return f"{shown}: {second} takes {ratio['value']:.{digits}f} times the time of {first}"


def _start_text(start: Facts) -> tuple[str, str]:
    whole = start["start"]
    if whole["refused"]:
        return "refused", whole["refused"]
    parts = [f"{name} {_ms(start[key]['median'])}" for name, key in (("load", "load"), ("first call", "first_call"))]
    spread = f"{_ms(whole['min'])} to {_ms(whole['max'])} in {counted(start['starts'], 'start')}"
    return _ms(whole["median"]), f"({spread}; {', '.join(parts)})"


def _ms(seconds: float | None) -> str:
    return "refused" if seconds is None else f"{seconds * 1e3:.3g} ms"


def _time(seconds: float, call: Facts) -> str:
    return f"{seconds * 1e3:.{_digits((call['high'] - call['low']) * 1e3)}f} ms"


def _digits(spread: float) -> int:
    """The number of decimals: one digit more than the first digit of the spread."""
    return 3 if spread <= 0 else min(max(1 - math.floor(math.log10(spread)), 0), 9)
