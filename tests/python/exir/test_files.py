# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written completely or not at all, where their path is a symbolic link."""

from __future__ import annotations

import errno
import os
from io import BufferedWriter
from pathlib import Path

import pytest

from sdk.exir._serialize._files import replaced, write_atomically


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


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "program.pt2"
    path.write_text("old")
    with pytest.raises(type(error)), replaced(path) as temporary:
        temporary.write_text("the beginn")
        raise error
    assert [*tmp_path.iterdir()] == [path] and path.read_text() == "old"
    with replaced(path) as temporary:
        assert temporary.suffix == ".pt2"
        temporary.write_text("new")
    write_atomically(tmp_path / "text", "bytes \u00e9")
    assert path.read_text() == "new" and (tmp_path / "text").read_bytes() == b"bytes \xc3\xa9"
    assert len([*tmp_path.iterdir()]) == 2


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
