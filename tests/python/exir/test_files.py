# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written completely or not at all, where their path is a symbolic link."""

from __future__ import annotations

import errno
import os
from io import BufferedWriter
from pathlib import Path

import pytest

from sdk.exir._serialize._files import write_atomically


class Text:
    def write_to_file(self, file: BufferedWriter) -> None:
        file.write(b"new")


def linked(folder: Path) -> tuple[Path, Path]:
    """A link to a file in another folder, and the file."""
    file, link = folder / "storage" / "weights", folder / "model.pte"
    file.parent.mkdir()
    file.write_bytes(b"old")
    link.symlink_to("storage/weights")
    return link, file


def test_the_users_own_link_is_followed(tmp_path: Path) -> None:
    link, file = linked(tmp_path)
    write_atomically(link, Text())
    assert file.read_bytes() == b"new" and link.is_symlink() and not file.is_symlink()
    assert [*file.parent.iterdir()] == [file]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link to another user")
def test_another_users_link_is_replaced(tmp_path: Path) -> None:
    link, file = linked(tmp_path)
    os.chown(link, 65534, 65534, follow_symlinks=False)
    write_atomically(link, Text())
    assert file.read_bytes() == b"old" and link.read_bytes() == b"new" and not link.is_symlink()


@pytest.mark.parametrize(("target", "reason"), [("missing", errno.ENOENT), ("model.pte", errno.ELOOP)])
def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path, target: str, reason: int) -> None:
    link = tmp_path / "model.pte"
    link.symlink_to(target)
    with pytest.raises(OSError) as error:
        write_atomically(link, Text())
    assert error.value.errno == reason
    assert [*tmp_path.iterdir()] == [link] and link.is_symlink()
