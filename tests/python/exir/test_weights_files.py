# SPDX-License-Identifier: BSD-3-Clause
"""Untrusted files of torch.save, at each entry point: checkpoints, adapters, weights of examples and inputs."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.examples.models.checkpoint import load_checkpoint_from_pytorch_model
from sdk.exir.serde._tensor_file import TensorFileError
from sdk.exir.serde._weights_file import load_weights
from sdk.export.cli.arrays import read_saved
from sdk.export.cli.errors import CommandError
from sdk.extension.llm.export.checkpoint import CheckpointError, read_adapter
from sdk.extension.llm.export.load import _read_weights

# The first compresses well; the second becomes larger when it is compressed. PyTorch maps the bytes of the file.
WEIGHTS = {"a": torch.zeros(1000), "b": torch.randint(0, 256, (100_000,), dtype=torch.uint8)}


def _of_example(path: Path) -> Any:
    (path.parent / "pytorch_model.bin").write_bytes(path.read_bytes())
    return load_checkpoint_from_pytorch_model(str(path.parent))


DOORS: dict[str, Callable[[Path], Any]] = {
    "checkpoint": lambda path: _read_weights(str(path)),
    "adapter": read_adapter,
    "example": _of_example,
    "inputs": read_saved,
}
REFUSED = (CheckpointError, TensorFileError, CommandError, RuntimeError)


def saved(values: Any) -> bytes:
    file = io.BytesIO()
    torch.save(values, file)
    return file.getvalue()


def packed(archive: bytes, method: int = zipfile.ZIP_DEFLATED, **changed: bytes) -> bytes:
    """Packs the archive again. `changed` has new contents of members, such as `data_pkl` for `data.pkl`."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(file, "w", method) as new:
        for info in old.infolist():
            short = info.filename.rpartition("/")[2].replace(".", "_")
            new.writestr(info.filename, changed.get(short, old.read(info)))
    return file.getvalue()


@pytest.mark.parametrize("door", DOORS)
def test_a_file_that_was_packed_again_has_the_same_weights(door: str, tmp_path: Path) -> None:
    for content in (saved(WEIGHTS), packed(saved(WEIGHTS))):
        (tmp_path / "weights.pt").write_bytes(content)
        found = DOORS[door](tmp_path / "weights.pt")
        assert list(found) == list(WEIGHTS)
        assert all(torch.equal(found[name], WEIGHTS[name]) for name in WEIGHTS)


def beyond(size: int, stride: int, offset: int = 0) -> bytes:
    """The pickle of {"a": a tensor of a storage of 8 floats}, as torch.save writes it."""
    number = [b"\x8a\x08" + struct.pack("<q", value) for value in (8, offset, size, stride)]
    return (
        b"\x80\x02}q\x00X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n"
        b"FloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + number[0] + b"tQ" + number[1] + number[2] + b"\x85"
        + number[3] + b"\x85\x89ccollections\nOrderedDict\n)RtRs."
    )  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_tensor_beyond_its_storage_is_refused(door: str, method: int, tmp_path: Path) -> None:
    """PyTorch would enlarge the storage."""
    file, archive = tmp_path / "weights.pt", saved({"a": torch.arange(8.0)})
    file.write_bytes(packed(archive, method, data_pkl=beyond(8, 1)))
    assert torch.equal(DOORS[door](file)["a"], torch.arange(8.0))
    for size, stride, offset in ((1 << 31, 1, 0), (8, 1 << 31, 0), (8, 1, 1 << 31), (9, 1, 0)):
        file.write_bytes(packed(archive, method, data_pkl=beyond(size, stride, offset)))
        with pytest.raises(REFUSED):
            DOORS[door](file)


@pytest.mark.parametrize("door", DOORS)
def test_a_directory_that_lies_about_sizes_is_refused(door: str, tmp_path: Path) -> None:
    """The central directory states small sizes for members that unpack to more than the limit."""
    content = bytearray(packed(saved({"a": torch.zeros(1 << 23)})))
    file = tmp_path / "weights.pt"
    file.write_bytes(content)
    with pytest.raises(REFUSED):
        DOORS[door](file)  # 32 MiB in some kilobytes
    place = -1
    while (place := content.find(b"PK\x01\x02", place + 1)) >= 0:
        content[place + 24 : place + 28] = struct.pack("<I", 100)
    file.write_bytes(content)
    with pytest.raises(REFUSED):
        DOORS[door](file)


@pytest.mark.parametrize("door", DOORS)
def test_a_pickle_from_before_archives_is_read(door: str, tmp_path: Path) -> None:
    torch.save(WEIGHTS, tmp_path / "weights.pt", _use_new_zipfile_serialization=False)
    assert torch.equal(DOORS[door](tmp_path / "weights.pt")["b"], WEIGHTS["b"])


def legacy(values: Any) -> bytes:
    file = io.BytesIO()
    torch.save(values, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


@pytest.mark.parametrize("door", DOORS)
def test_a_pickle_that_asks_for_more_than_it_has_is_refused(door: str, tmp_path: Path) -> None:
    """PyTorch allocates a storage before it reads the number of its elements for the second time."""
    file, content = tmp_path / "weights.pt", legacy({"a": torch.arange(1000.0)})
    count = struct.pack("<H", 1000)
    assert content.count(b"M" + count) == 2  # of the storage, and the size of the tensor
    file.write_bytes(content)
    assert torch.equal(DOORS[door](file)["a"], torch.arange(1000.0))
    huge = b"\x8a\x06" + struct.pack("<q", 1 << 40)[:6]
    storage, tensor = (part for part in (content.index(b"M" + count), content.rindex(b"M" + count)))
    wrong = {
        "storage": content[:storage] + huge + content[storage + 3 :],
        "tensor": content[:tensor] + huge + content[tensor + 3 :],
        "both": content.replace(b"M" + count, huge),
        "other count": content[:-4008] + struct.pack("<q", 999) + content[-4000:],
        "cut": content[:-1],
        "no storage": content[:-4008],
        "empty": b"",
        "code": b"cos\nsystem\n(X\x04\x00\x00\x00trueptR.",
    }
    for changed in wrong.values():
        file.write_bytes(changed)
        with pytest.raises(REFUSED):
            DOORS[door](file)


def test_a_pickle_from_before_archives_keeps_dtypes_views_and_shared_storages(tmp_path: Path) -> None:
    whole = torch.arange(24.0).reshape(4, 6)
    values = {"whole": whole, "turned": whole.t()[1:], "empty": torch.zeros(0, 3), "flags": torch.tensor([True, False])}
    values |= {str(d): torch.arange(5).to(d) for d in (torch.float16, torch.bfloat16, torch.float64, torch.int64)}
    values["parameter"] = torch.nn.Parameter(torch.ones(2))
    (tmp_path / "weights.pt").write_bytes(legacy(values))
    found = load_weights(tmp_path / "weights.pt")
    assert list(found) == list(values)
    for name, value in values.items():
        assert found[name].dtype == value.dtype and found[name].stride() == value.stride()
        assert torch.equal(found[name], value)
    found["whole"][0, 1] = 100.0
    assert found["turned"][0, 0] == 100.0
