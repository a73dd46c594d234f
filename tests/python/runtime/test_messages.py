# SPDX-License-Identifier: BSD-3-Clause
"""Error messages of the runtime: one line with the cause, the location and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sdk.extension.pybindings import portable_lib
from sdk.runtime import ExecuTorchError, Runtime

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"
ONE = np.ones((2, 3), np.float32)


def content(name: str) -> bytes:
    return (CORPUS / name / "model.pte").read_bytes()


def text_of(call: Callable[[], Any]) -> str:
    """Returns the text of the error, which is one line, like the runtime's log of it."""
    with pytest.raises(ExecuTorchError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text, text
    assert len(caught.value.log) <= 1
    assert text.endswith(f" [{caught.value.error}]")
    return text


def load_text(data: bytes, method: str = "forward") -> str:
    return text_of(lambda: Runtime.get().load_program(data).load_method(method))


def test_a_file_of_another_kind() -> None:
    assert load_text(b"PK\x03\x04" + bytes(200)) == (
        "'the buffer' cannot be loaded: This is not a program: bytes 4 to 7 are 00 00 00 00, expected 'ET12' "
        "(is it a .pte file?) [InvalidProgram]"
    )


def test_another_version() -> None:
    data = bytearray(content("add"))
    data[4:8] = b"ET11"
    text = load_text(bytes(data))
    assert "The program has format version 'ET11', this runtime reads 'ET12': export it again" in text


def test_a_file_that_was_cut_off() -> None:
    data = content("linear")
    assert load_text(data[:840]) == (
        f"'the buffer' cannot be loaded: The file has 840 bytes, its header says at least {len(data)}: it was cut off "
        "(the program is damaged: fetch or export it again) [InvalidProgram]"
    )
    assert "has 0 bytes, at least 64 are needed: the file is empty, cut off or of another kind" in load_text(b"")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.pte"
    assert text_of(lambda: Runtime.get().load_program(path)) == (
        f"The file cannot be loaded: {path}: cannot be opened: No such file or directory [AccessFailed]"
    )


@pytest.mark.parametrize("name", ["add", "linear", "cond", "convs"])
def test_every_damaged_byte_is_told_in_one_line(name: str) -> None:
    """Changes each byte of the flatbuffer in turn. If it still is a program, it must run or give a one-line error."""
    original = content(name)
    size = int.from_bytes(original[16:24], "little") if original[8:12] == b"eh00" else len(original)
    refused = 0
    for place in range(0, size, 1 if size < 3000 else 7):
        data = bytearray(original)
        data[place] ^= 0xFF
        try:
            program = Runtime.get().load_program(bytes(data))
            program.load_method("forward")
        except (ExecuTorchError, KeyError, UnicodeDecodeError) as error:
            if isinstance(error, ExecuTorchError):
                assert "\n" not in str(error), f"byte {place}: {error}"
                assert len(error.log) == 1, f"byte {place}: {error}"
                refused += 1
    assert refused > 50


def test_wrong_inputs() -> None:
    add = Runtime.get().load_program(CORPUS / "add" / "model.pte").load_method("forward")
    where = f"method 'forward' of '{CORPUS / 'add' / 'model.pte'}' does not take these inputs: "
    for inputs, line in [
        ([ONE], "expected 2 inputs, found 1"),
        ([ONE, ONE.T], "Input 1 must have sizes (2, 3), found (3, 2): export with a dynamic shape to give it these"),
        ([ONE, ONE[0]], "Input 1 must have 2 dimensions, found 1"),
        ([2, ONE], "Input 0 must be a Tensor, found Int"),
    ]:
        assert text_of(lambda: add.execute(inputs)) == where + line + " [InvalidArgument]"  # noqa: B023


@pytest.mark.parametrize(
    ("value", "conversion", "line"),
    [
        (ONE.astype(np.float64), "float64: convert it with .astype(np.float32)", "found Double"),
        (ONE.astype(np.int64), "int64: convert it with .astype(np.float32)", "found Long"),
        (torch.ones(2, 3, dtype=torch.float64), "float64: convert it with .to(torch.float32)", "found Double"),
    ],
)
def test_inputs_of_another_dtype_say_how_to_convert_them(value: object, conversion: str, line: str) -> None:
    path = CORPUS / "add" / "model.pte"
    method = Runtime.get().load_program(path).load_method("forward")
    module = portable_lib._load_for_executorch(str(path))
    for call in (lambda: method.execute([ONE, value]), lambda: module.forward([ONE, value])):
        assert text_of(call) == (
            f"method 'forward' of '{path}' does not take these inputs (input 1 is {conversion}): "
            f"Input 1 must have dtype Float, {line} [InvalidArgument]"
        )


def test_missing_methods() -> None:
    path = CORPUS / "add" / "model.pte"
    with pytest.raises(KeyError, match="the program has no method 'backward', it has 'forward'"):
        Runtime.get().load_program(path).load_method("backward")
    module = portable_lib._load_for_executorch(str(path))
    assert text_of(lambda: module.run_method("backward", [])) == (
        f"'{path}' has no method 'backward', it has 'forward' [InvalidArgument]"
    )


def test_all_missing_operators_are_named_once() -> None:
    data = content("add_mul_alpha").replace(b"aten::add", b"aten::zdd").replace(b"aten::mul", b"aten::zul")
    text = load_text(data)
    assert text.count("aten::zdd.out") == 1
    assert text.count("aten::zul.out") == 1
    assert "needs 2 operators that are not registered" in text
    assert "link a kernel library that has them" in text


def test_missing_backends_are_named() -> None:
    text = load_text(content("xnn_many_partitions").replace(b"XnnpackBackend", b"YnnpackBackend"))
    assert "needs 1 backends that are not registered; link their libraries, or export without them: Ynn" in text


def test_missing_external_data() -> None:
    text = load_text(content("ptd_portable"))
    assert "Method 'forward' has 4 constants in another file: load it together with its .ptd" in text
