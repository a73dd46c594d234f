# SPDX-License-Identifier: BSD-3-Clause
"""The differences between two files of the same kind."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from sdk.command import CommandError
from sdk.command.lines import columns, printable
from sdk.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from sdk.inspect._facts import facts
from sdk.inspect._kinds import NAMES

Difference = dict[str, Any]

_NAMED_BY = ("name", "key", "id", "method")
_LEFT_OUT = ("path", "offset", "tensors")


def differences(first: Path, second: Path) -> list[Difference]:
    """Each difference as `{"path": "methods/forward/memory/1/bytes", "a": ..., "b": ...}`; None means a missing
    value.

    The digests of the sections of a `.pte` or `.ptd` are compared, too, so that different weights are a difference.
    Raises CommandError as `facts` does, and if the files are of different kinds.
    """
    both = facts(first), facts(second)
    if both[0]["kind"] != both[1]["kind"]:
        a, b = (NAMES[found["kind"]] for found in both)
        raise CommandError(f"expected two files of one kind, found {a} and {b}: compare files of the same kind")
    flat = [
        {**dict(_leaves(found)), **_digests(path, found)} for path, found in zip((first, second), both, strict=True)
    ]
    paths = list(dict.fromkeys([*flat[0], *flat[1]]))
    return [
        {"path": path, "a": flat[0].get(path), "b": flat[1].get(path)}
        for path in paths
        if flat[0].get(path) != flat[1].get(path)
    ]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _LEFT_OUT and not (key in _NAMED_BY and path):
                yield from _leaves(item, f"{path}/{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        seen: Counter[str] = Counter()
        for index, item in enumerate(value):
            name = str(next((item[key] for key in _NAMED_BY if key in item), index))
            seen[name] += 1
            number = f" ({seen[name]})" if seen[name] > 1 else ""
            yield f"{path}/{name}{number}", "present"
            yield from _leaves(item, f"{path}/{name}{number}")
    else:
        yield path, value


def _digests(path: Path, found: dict[str, Any]) -> dict[str, str]:
    """The SHA-256 of each section with a known position. Empty without such sections, and for an ETRecord."""
    if found["kind"] == "etrecord":  # a ZIP file contains times
        return {}
    if found["kind"] == "bpte":
        return _bundle_digests(path.read_bytes(), found)
    with path.open("rb") as file:
        return _section_digests(file, found.get("sections", []))


def _bundle_digests(data: bytes, found: dict[str, Any]) -> dict[str, str]:
    """The SHA-256 of the test cases, and of each section of the program in a bundled program."""
    program = deserialize_from_flatbuffer_to_bundled_program(data).program
    start = data.index(program)
    cases = hashlib.sha256(data[:start])
    cases.update(data[start + len(program) :])
    inner = _section_digests(io.BytesIO(program), found["program"]["sections"], "program/")
    return {"sections/test cases/sha256": cases.hexdigest(), **inner}


def _section_digests(file: BinaryIO, sections: list[dict[str, Any]], prefix: str = "") -> dict[str, str]:
    digests: dict[str, str] = {}
    for section in sections:
        if section["offset"] is None:
            continue
        file.seek(section["offset"])
        digest, left = hashlib.sha256(), section["bytes"]
        while left > 0 and (piece := file.read(min(left, 1 << 20))):
            digest.update(piece)
            left -= len(piece)
        name = f"{prefix}sections/{section['name']}/sha256"
        digests[name] = digests.get(name, "") + digest.hexdigest()
    return digests


def text(first: Path, second: Path, found: list[Difference]) -> str:
    """The differences as lines of text."""
    if not found:
        return f"{first} and {second} have the same content"
    rows = [("", "a: " + str(first), "b: " + str(second), "")]
    for entry in found:
        a, b = entry["a"], entry["b"]
        change = f"{b - a:+}" if type(a) is type(b) is int else ""
        rows.append((printable(entry["path"]), _short(a), _short(b), change))
    return "\n".join(columns(rows))


def _short(value: Any) -> str:
    if value is None:
        return "-"
    shown = printable(str(value))
    return shown if len(shown) <= 40 else shown[:12] + "..."
