# SPDX-License-Identifier: BSD-3-Clause
"""Files of tensors that try to run Python or to take memory: `read_tensors` refuses them."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from typing import Any

import pytest
import torch
from hostile_programs import Payload, pickled, saved

from sdk.exir.serde._tensor_file import TensorFileError, read_tensors


def _tensor_pickle(size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> bytes:
    """A tensor with 4 bytes of data that claims other sizes."""

    class Claim:
        def __reduce__(self) -> tuple[Any, ...]:
            return torch._utils._rebuild_tensor_v2, (STORAGE, offset, size, stride, False, OrderedDict())

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return ("storage", torch.FloatStorage, "0", "cpu", 1) if value is STORAGE else None

    code, buffer = io.BytesIO(), io.BytesIO()
    Pickler(code, 2).dump(Claim())
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", code.getvalue())
        archive.writestr("archive/data/0", b"\0" * 4)
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


STORAGE = object()


class Allocation:
    """A pickle of `bytearray(number)`, which torch.load(weights_only=True) calls."""

    def __reduce__(self) -> tuple[Any, ...]:
        return bytearray, (1 << 32,)


class TestTensorFiles:
    def test_values(self) -> None:
        base = torch.arange(12.0).reshape(3, 4)
        values = {
            "views": [base, base.t(), base[1:, ::2], base[0, 0], base[:0]],
            "parameter": torch.nn.Parameter(torch.ones(2)),
            "buffer": torch.nn.Buffer(torch.ones(2)),
            "types": [torch.ones(2, dtype=d) for d in (torch.int8, torch.bool, torch.uint16, torch.bfloat16)],
            "fp8": torch.ones(2).to(torch.float8_e4m3fn),
            "complex": torch.ones(2, dtype=torch.complex64).conj(),
            "plain": (1, -(2**70), 1.5, 1j, None, True, "text", b"bytes", {1, 2}, torch.float32, torch.Size([1])),
            "meta": torch.ones(2, device="meta"),
            3: OrderedDict(a=1),
        }
        read, expected = read_tensors(saved(values)), torch.load(io.BytesIO(saved(values)), weights_only=True)
        assert read.keys() == expected.keys() and read["plain"] == expected["plain"] and read[3] == expected[3]
        for name in ("views", "parameter", "buffer", "types", "fp8", "complex"):
            torch.testing.assert_close(read[name], expected[name], rtol=0, atol=0)
        assert type(read["parameter"]) is torch.nn.Parameter and isinstance(read["buffer"], torch.nn.Buffer)
        storages = {tensor.untyped_storage().data_ptr() for tensor in read["views"]}
        assert len(storages) == 1, "views of one storage still share it"
        assert read["meta"].is_meta

    @pytest.mark.parametrize(
        "size, stride, offset",
        [
            ((1 << 40,), (1,), 0),
            ((2,), (1,), 0),
            ((1,), (1,), 1),
            ((1,), (1,), -1),
            ((2, 2), (1, 1 << 60), 0),
            ((-1,), (1,), 0),
        ],
    )
    def test_a_tensor_beyond_its_storage(self, size: Any, stride: Any, offset: int) -> None:
        assert read_tensors(_tensor_pickle((1,), (1,))).shape == (1,)
        with pytest.raises(TensorFileError, match=r"lies outside of its 1 elements|invalid size, stride or offset"):
            read_tensors(_tensor_pickle(size, stride, offset))

    @pytest.mark.parametrize(
        "value, message",
        [
            (Allocation(), r"the data has a __builtin__.bytearray"),
            (Payload("1"), r"the data has a __builtin__.eval"),
            (print, r"the data has a __builtin__.print"),
            (torch.nn.Linear, r"the data has a torch.nn.modules.linear.Linear"),
            (OrderedDict, r"a function or a storage instead of a value"),
        ],
    )
    def test_calls(self, value: Any, message: str) -> None:
        with pytest.raises(TensorFileError, match=message):
            read_tensors(pickled(value))

    def test_lists_of_lists_that_are_many(self) -> None:
        value: Any = [0]
        for _ in range(60):
            value = [value, value]
        with pytest.raises(TensorFileError, match="more than 1000000 values"):
            read_tensors(pickled(value))

    def test_packed_members(self) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/data.pkl", b"\x80\x02N.")
            archive.writestr("archive/data/0", bytes(1 << 24))
        with pytest.raises(TensorFileError, match="packed by method 8"):
            read_tensors(buffer.getvalue())
