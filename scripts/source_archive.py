# SPDX-License-Identifier: BSD-3-Clause
"""The full source archive of a release: the tree, and the pinned third-party sources in third_party/.

scripts/third_party and cmake/ThirdParty.cmake look there first, so the builds of the unpacked archive download nothing.
The same files give the same bytes: names are sorted, and dates, owners and the header of gzip are fixed.
"""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path


def tree_files(root: Path) -> list[str]:
    """The files of a checkout that git does not ignore, as they are now, sorted; paths are relative to `root`."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    ).stdout.decode()
    names = {name for name in listed.split("\0") if name}
    return sorted(name for name in names if (root / name).is_file() or (root / name).is_symlink())


def source_date(root: Path) -> int:
    """The date of a release in seconds since 1970: SOURCE_DATE_EPOCH, or that of the last commit."""
    if named := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(named)
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def write_archive(
    path: Path, root: Path, names: Iterable[str], sources: dict[str, Path], date: int, written: dict[str, bytes]
) -> None:
    """Write `path`, a .tar.gz with one folder that has the name of the archive.

    `names` are files below `root`; those in `written` have that content instead. `sources` are folders of third-party
    sources by name. `date` is the time of every file, in seconds since 1970. The archive appears under its name only
    when it is complete.
    """
    top = path.name.removesuffix(".tar.gz")
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        complete = Path(folder) / path.name
        with (
            complete.open("wb") as file,
            gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=date) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for name in sorted({*names, *written}):
                _add(tar, root / name, f"{top}/{name}", date, written.get(name))
            for source, folder in sorted(sources.items()):
                for found in _files_below(folder):
                    _add(tar, found, f"{top}/third_party/{source}/{found.relative_to(folder).as_posix()}", date)
        complete.replace(path)


def _files_below(folder: Path) -> Iterator[Path]:
    return iter(sorted(found for found in folder.rglob("*") if found.is_symlink() or found.is_file()))


def _add(tar: tarfile.TarFile, file: Path, name: str, date: int, data: bytes | None = None) -> None:
    entry = tarfile.TarInfo(name)
    entry.mtime = date
    if data is None and file.is_symlink():
        entry.type = tarfile.SYMTYPE
        entry.linkname = str(file.readlink())
        tar.addfile(entry)
        return
    executable = data is None and file.stat().st_mode & 0o100
    data = file.read_bytes() if data is None else data
    entry.size = len(data)
    entry.mode = 0o755 if executable else 0o644
    tar.addfile(entry, io.BytesIO(data))
