# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.export --wrapper`: classes for one model. tests/wrappers and sdk/ios compile and run them."""

from __future__ import annotations

import hashlib
import re
import runpy
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir.scalar_type import ScalarType
from sdk.export.cli import main
from sdk.export.wrappers import LANGUAGES, Dim, describe_program, render, wrapper_name

_ROOT = Path(__file__).parents[3]

_NET = """
import torch

class Net(torch.nn.Module):
    def forward(self, x, mask, state):
        return (x * mask.to(x.dtype)).sum(-1), state[0] + 1

    def example_inputs(self):
        return (torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool), [torch.zeros(4, dtype=torch.int64)])
"""


def test_the_wrappers_that_other_tests_compile_are_current() -> None:
    texts = runpy.run_path(str(_ROOT / "tests/wrappers/regenerate"))["wrappers"]()
    stale = [path.name for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
    assert not stale, "run tests/wrappers/regenerate"
    assert len(texts) == 9


def test_the_command_writes_a_class_in_each_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.py").write_text(_NET)
    monkeypatch.chdir(tmp_path)
    arguments = ["net.py:Net", "-o", "my_net.pte", "--no-verify", "--wrapper", "kotlin,swift,cpp"]
    assert main([*arguments, "--dynamic", "x.0=1..8", "--dynamic", "mask.0=1..8"]) == 0
    program = (tmp_path / "my_net.pte").read_bytes()
    for ending in LANGUAGES.values():
        text = (tmp_path / f"MyNet{ending}").read_text()
        assert hashlib.sha256(program).hexdigest() in text
        assert f"{len(program):,} bytes" in text
        assert "x: float32[1..8, 3], mask: bool[1..8, 3], state_0: int64[4]" in text
    swift = (tmp_path / "MyNet.swift").read_text()
    assert "func forward(x: Tensor<Float>, mask: Tensor<Bool>, state0: Tensor<Int64>) throws -> ForwardOutput" in swift
    kotlin = (tmp_path / "MyNet.kt").read_text()
    assert "fun forward(x: Tensor, mask: Tensor, state0: Tensor): ForwardOutput" in kotlin
    assert 'checkInput(x, DType.FLOAT, "x", 1L..8L, 3L..3L)' in kotlin


def test_an_unknown_language_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["net.py:Net", "--wrapper", "swift,kotln"])
    assert exit.value.code == 2
    assert "Did you mean `kotlin`?" in capsys.readouterr().err


def test_every_program_of_the_corpus_has_a_wrapper() -> None:
    for file in sorted((_ROOT / "tests/data/corpus").glob("*/model.pte")):
        description = describe_program(deserialize_pte_binary(file.read_bytes()).program, file)
        for language in LANGUAGES:
            text = render(description, language)
            assert description.sha256 in text
            assert "None" not in text, (file, language)
            # Braces of these languages come in pairs.
            assert text.count("{") == text.count("}"), (file, language)


@pytest.mark.parametrize("dtype", ScalarType, ids=lambda dtype: dtype.name)
def test_tensors_of_every_dtype_have_the_name_that_the_language_has(dtype: ScalarType) -> None:
    """A complex input was `Undefined` in C++, which no tensor is, and a name that Kotlin does not know."""
    file = _ROOT / "tests/data/corpus/add/model.pte"
    described = describe_program(deserialize_pte_binary(file.read_bytes()).program, file)
    method = described.methods[0]
    values = {
        key: tuple(replace(value, dtype=dtype) for value in getattr(method, key)) for key in ("inputs", "outputs")
    }
    program = replace(described, methods=(replace(method, **values),))

    header = (_ROOT / "sdk/cpp/executorch/runtime/core/portable_type/scalar_type.h").read_text()
    names = re.findall(r"^  _\(.*, (\w+)\)", header, re.MULTILINE)
    found = re.findall(r"ScalarType::(\w+)", render(program, "cpp"))
    assert [names.index(name) for name in found] == [dtype] * 2

    kotlin = (_ROOT / "sdk/android/executorch_android/src/main/java/org/pytorch/executorch/DType.kt").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"^  (\w+)\((\d+), \d+\)", kotlin, re.MULTILINE)}
    if dtype not in numbers.values():
        with pytest.raises(ValueError, match="Kotlin's DType has no float8"):
            render(program, "kotlin")
        return
    found = re.findall(r"DType\.(\w+)", render(program, "kotlin"))
    assert [numbers[name] for name in found if name in numbers] == [dtype] * 3


def test_names_are_identifiers_and_each_is_there_once(tmp_path: Path) -> None:
    file = _ROOT / "tests/data/corpus/scalar_inputs/model.pte"
    program = deserialize_pte_binary(file.read_bytes()).program
    names = ["state.0", "state_0", "class", "2d"]
    described = describe_program(program, file, input_names={"forward": names}).methods[0]
    assert [value.name for value in described.inputs] == ["state_0", "state_0_2", "class_", "input_2d"]
    fixed = describe_program(program, file).methods[0].inputs[0]
    assert (fixed.dtype, fixed.dims, fixed.nbytes) == (ScalarType.FLOAT, (Dim(2, 2), Dim(3, 3)), 24)


@pytest.mark.parametrize(
    "file, name",
    [
        ("mobilenet_v2.pte", "MobilenetV2"),
        ("a-b.c.pte", "ABC"),
        ("3d.pte", "Model3d"),
        ("X.pte", "X"),
        ("BERT.pte", "BERT"),
        ("EINTR.pte", "EINTRModel"),
    ],
)
def test_the_class_is_named_after_the_file(file: str, name: str) -> None:
    assert wrapper_name(file) == name
    assert re.fullmatch(r"[A-Za-z]\w*", name)


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_no_class_has_the_name_of_a_macro() -> None:
    """The macros are those of headers that a generated header includes, and of headers that applications include."""
    headers = ("string", "vector", "cerrno", "csignal", "cstdio", "cmath", "climits", "cinttypes", "cstdlib", "cwchar")
    source = "".join(f"#include <{name}>\n" for name in headers)
    source += "#include <executorch/extension/module/module.h>\n"
    command = ["c++", "-std=c++17", "-dM", "-E", "-x", "c++", f"-I{_ROOT / 'sdk/cpp'}", "-"]
    defined = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    macros = re.findall(r"^#define ([A-Z][A-Z0-9]+)(?![\w(])", defined, re.MULTILINE)
    assert "EINTR" in macros and "NULL" in macros
    assert [name for name in macros if wrapper_name(f"{name}.pte") == name] == []
