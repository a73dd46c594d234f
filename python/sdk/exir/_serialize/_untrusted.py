# SPDX-License-Identifier: BSD-3-Clause
"""Reads untrusted ZIP files and JSON with a bound on the memory that they take."""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sdk.exir._serialize._regular_file import regular

_SPARE = 16 << 20
_RATIO = 8
"""The members together have at most `_SPARE + _RATIO * (size of the file)` bytes. Exporters store them; other tools may
have packed them again."""
_MOST_MEMBERS = 1 << 16
_BLOCK = 1 << 20

_JSON_SPARE = 64 << 20
_JSON_RATIO = 24
"""The values of a JSON text take at most `_JSON_SPARE + _JSON_RATIO * (its length)` bytes of memory."""


class ArchiveError(ValueError):
    """The file is not a ZIP file, is damaged, or unpacks to more than a file of its size may."""


class ArchiveSizeError(ArchiveError):
    """The file unpacks to more than a file of its size may."""


def read_members(file: str | os.PathLike[str] | BinaryIO, *, stored: bool = False) -> dict[str, bytes]:
    """The contents of all members by name. With `stored`, compressed members are refused, so that all members together
    are at most as large as the file.

    Memory is allocated for the declared sizes only after their sum has been checked. Raises ArchiveError, and OSError
    for a path that cannot be opened.
    """
    if isinstance(file, (str, os.PathLike)):
        try:
            path = regular(file)
        except OSError as error:
            raise ArchiveError(error.strerror) from None
        with path.open("rb") as opened:
            return read_members(opened, stored=stored)
    try:
        with ZipFile(file) as archive:
            infos = archive.infolist()
            _check(infos, file.seek(0, os.SEEK_END), stored)
            members: dict[str, bytes] = {}
            for info in infos:
                if info.filename in members:
                    raise ArchiveError(f"the ZIP file has {info.filename[:80]!r} twice")
                members[info.filename] = _content(archive, info)
            return members
    except ArchiveError:
        raise
    except Exception as error:  # zipfile fails in many ways on data that is not a ZIP file
        raise ArchiveError(f"the ZIP file is damaged: {error}") from error


def _check(infos: list[ZipInfo], size: int, stored: bool) -> None:
    if len(infos) > _MOST_MEMBERS:
        raise ArchiveError(f"the ZIP file has {len(infos)} members, at most {_MOST_MEMBERS} are read")
    for info in infos:
        if info.compress_type not in ((ZIP_STORED,) if stored else (ZIP_STORED, ZIP_DEFLATED)):
            raise ArchiveError(f"the ZIP file has {info.filename[:80]!r} packed by method {info.compress_type}")
    unpacked = sum(info.file_size for info in infos)
    most = size if stored else _SPARE + _RATIO * size
    if unpacked > most:
        raise ArchiveSizeError(
            f"no exporter wrote a ZIP file of {size} bytes that unpacks to {unpacked}, at most {most} are read"
        )


def _content(archive: ZipFile, info: ZipInfo) -> bytes:
    """Unpacks a member in blocks: ZipFile.read unpacks all of it before it checks the declared size."""
    blocks, left = [], info.file_size
    with archive.open(info) as member:
        while left > 0:
            block = member.read(min(left, _BLOCK))
            if not block:
                raise ArchiveError(f"the ZIP file has {info.filename[:80]!r} with fewer bytes than it declares")
            blocks.append(block)
            left -= len(block)
    return b"".join(blocks)


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError for text that is not JSON, and for text whose values would take far
    more memory than the text."""
    data = text.encode() if isinstance(text, str) else text
    # The bytes that CPython needs for a dict with one item, a list, half of a string, and an item of a dict or list.
    needed = 300 * data.count(b"{") + 80 * data.count(b"[") + 40 * data.count(b'"') + 40 * data.count(b",")
    if needed > _JSON_SPARE + _JSON_RATIO * len(data):
        raise ValueError(f"its {len(data)} bytes of JSON have more lists, objects and texts than a program has")
    return json.loads(data)
