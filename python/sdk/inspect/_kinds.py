# SPDX-License-Identifier: BSD-3-Clause
"""Detects the kind of a file from its first bytes."""

from __future__ import annotations

from pathlib import Path

from sdk.command import CommandError

IDENTIFIERS = {b"ET12": "pte", b"FT01": "ptd", b"BP08": "bpte", b"ED00": "etdump"}
"""A flatbuffer has its identifier at byte 4. An ETDump that begins with its size has it at byte 8."""

NAMES = {
    "pte": "a program (.pte)",
    "ptd": "data of a program (.ptd)",
    "bpte": "a bundled program (.bpte)",
    "etdump": "an ETDump",
    "etrecord": "an ETRecord",
}


def kind_of(path: Path) -> str:
    """A key of `NAMES`. Raises CommandError for any other file."""
    with path.open("rb") as file:
        head = file.read(12)
    if head[4:8] in IDENTIFIERS:
        return IDENTIFIERS[head[4:8]]
    if head[8:12] == b"ED00":
        return "etdump"
    if head[:4] == b"PK\x03\x04":
        return "etrecord"
    found = f"{len(head)} bytes" if len(head) < 8 else f"a file that begins with {head!r}"
    *kinds, last = NAMES.values()
    raise CommandError(
        f"`{path}`: expected {', '.join(kinds)} or {last}, found {found}: pass one of these, not cut off"
    )
