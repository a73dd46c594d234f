# SPDX-License-Identifier: BSD-3-Clause
"""Reads archives and object files of Apple's systems, as far as the checks need.

Formats: ar(5) of BSD and GNU, and <mach-o/loader.h> and <mach-o/nlist.h> of Darwin.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_MAGIC_64 = 0xFEEDFACF
_CPU_ARM64 = 0x0100000C
_CPU_X86_64 = 0x01000007
_LC_SYMTAB = 0x2
_LC_BUILD_VERSION = 0x32
_LC_VERSION_MIN_MACOSX = 0x24
_LC_VERSION_MIN_IPHONEOS = 0x25
_N_STAB, _N_PEXT, _N_TYPE, _N_EXT, _N_UNDF = 0xE0, 0x10, 0x0E, 0x01, 0x0


def archive_members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """The name and content of each file in an archive, except the archive's own tables."""
    if archive[:8] != b"!<arch>\n":
        raise ValueError("this is not an archive")
    position = 8
    long_names = b""
    while position + 60 <= len(archive):
        header = archive[position : position + 60]
        size = int(header[48:58])
        content = archive[position + 60 : position + 60 + size]
        name = header[:16].decode("ascii").rstrip()
        if name.startswith("#1/"):  # BSD: the name is before the content
            length = int(name[3:])
            name, content = content[:length].rstrip(b"\0").decode(), content[length:]
        elif name == "//":
            long_names = content
        elif name.startswith("/") and name[1:].isdigit():
            name = long_names[int(name[1:]) :].split(b"/\n", 1)[0].decode()
        if name not in ("/", "//", "/SYM64/") and not name.startswith("__.SYMDEF"):
            yield name.rstrip("/"), content
        position += 60 + size + size % 2


class MachO:
    """A 64-bit object file. Raises ValueError for other files."""

    def __init__(self, content: bytes) -> None:
        if len(content) < 32 or struct.unpack_from("<I", content)[0] != _MAGIC_64:
            raise ValueError("this is not a 64-bit Mach-O object")
        processor = struct.unpack_from("<I", content, 4)[0]
        self.architecture = {_CPU_ARM64: "arm64", _CPU_X86_64: "x86_64"}.get(processor, hex(processor))
        self.platform: int | None = None
        """Darwin's number, such as 1 of macOS, 2 of iOS and 7 of its simulator; None if the file has no platform."""
        self.defined: list[str] = []
        """The symbols that it exports."""
        self.hidden: list[str] = []
        """The symbols that are visible only where it is linked."""
        self.undefined: list[str] = []
        """The symbols that it imports."""
        position = 32
        for _ in range(struct.unpack_from("<I", content, 16)[0]):
            command, size = struct.unpack_from("<II", content, position)
            if size < 8 or position + size > len(content):
                raise ValueError("a load command has a wrong size")
            if command == _LC_BUILD_VERSION:
                self.platform = struct.unpack_from("<I", content, position + 8)[0]
            elif command in (_LC_VERSION_MIN_MACOSX, _LC_VERSION_MIN_IPHONEOS):
                self.platform = 1 if command == _LC_VERSION_MIN_MACOSX else 2
            elif command == _LC_SYMTAB:
                self._read_symbols(content, *struct.unpack_from("<IIII", content, position + 8))
            position += size

    def _read_symbols(self, content: bytes, symbols: int, count: int, strings: int, length: int) -> None:
        table = content[strings : strings + length]
        for index in range(count):
            name, kind, _, _, _ = struct.unpack_from("<IBBHQ", content, symbols + 16 * index)
            if kind & _N_STAB or not kind & _N_EXT:
                continue
            text = table[name : table.index(b"\0", name)].decode()
            if kind & _N_TYPE == _N_UNDF:
                self.undefined.append(text)
            elif kind & _N_PEXT:
                self.hidden.append(text)
            else:
                self.defined.append(text)
