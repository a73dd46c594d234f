# SPDX-License-Identifier: BSD-3-Clause
"""Packing and unpacking folders under the names of ExecuTorch's module. `container` has the format."""

from __future__ import annotations

from pathlib import Path

from sdk.backends.apple.coreml.container import PayloadError, pack, read_folder, unpack, write_folder

__all__ = ["flatten_directory_contents", "unflatten_directory_contents"]


def flatten_directory_contents(path: str) -> bytes:
    """The payload of the folder at `path`, with its files sorted by name, so that the same folder gives the same bytes.
    ExecuTorch's order depends on the file system.

    Raises:
        PayloadError: the folder holds a link.
        OSError: it cannot be read.
    """
    folder = Path(path)
    return pack(read_folder(folder), folder.resolve().name)


def unflatten_directory_contents(bytes: bytes, path: str) -> bool:
    """Writes the folder of a payload into the existing folder `path`. Returns True.

    Raises:
        PayloadError: the payload is damaged, or `path` has a folder of this name. Nothing is written.
        OSError: the folder cannot be written.
    """
    name, tree = unpack(bytes)
    if not name:
        raise PayloadError("the folder in the payload has no name, so it cannot be written into another")
    write_folder(tree, Path(path) / name)
    return True
