# SPDX-License-Identifier: BSD-3-Clause
"""docs/faq.md: each message that it quotes is provoked here, and each answer that can be tried is tried."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from page_programs import ROOT, build, run
from torch import nn
from torch._export.verifier import SpecViolationError
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.runtime import ExecuTorchError, Runtime
from zoo.function import Function

from blocks import blocks

PAGE = ROOT / "docs" / "faq.md"
TEXT = PAGE.read_text(encoding="utf-8")

LIBRARY = torch.library.Library("my_ops", "DEF")
LIBRARY.define("mul3(Tensor x) -> Tensor")
LIBRARY.impl("mul3", lambda x: 3 * x, "CompositeExplicitAutograd")
torch.library.register_fake("my_ops::mul3", torch.empty_like, lib=LIBRARY)
LIBRARY_OF_THE_PAGE = torch.library.Library("faq_ops", "FRAGMENT")


class BackendOfNobody(BackendDetails):
    """Compiles to nothing; there is no code for it at run time."""

    @staticmethod
    def preprocess(edge_program, compile_specs) -> PreprocessResult:
        return PreprocessResult(b"")


def sections() -> dict[str, str]:
    parts = re.split(r"^### (.+)\n", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def quoted(title: str) -> list[str]:
    """Returns the messages of a section as regular expressions: `...` in them matches any text."""
    found = re.findall(r"^```text\n(.*?)\n```", sections()[title], re.DOTALL | re.MULTILINE)
    return [re.escape(message).replace(r"\.\.\.", r"[\s\S]*?") for message in found]


def check(title: str, *printed: str) -> None:
    """Checks that each message of the section occurs in the printed text."""
    messages = quoted(title)
    assert len(messages) == len(printed)
    for message, text in zip(messages, printed, strict=True):
        # CMake breaks and indents lines.
        assert re.search(message, " ".join(text.split())), (
            f"{title}: the page quotes\n{message}\nand this is printed\n{text}"
        )


def message_of(action: Callable[[], object]) -> str:
    with pytest.raises((RuntimeError, SpecViolationError)) as caught:
        action()
    return str(caught.value)


def load(buffer: bytes, *inputs: torch.Tensor) -> object:
    return Runtime.get().load_program(buffer).load_method("forward").execute(list(inputs))


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_faq01_python_without_headers(tmp_path: Path) -> None:
    arguments = [
        "-DEXECUTORCH_BUILD_PYBIND=ON",
        "-DPython_INCLUDE_DIR=/nowhere",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    done = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    check("The Python bindings need Python 3.10 or newer with its headers", done.stderr)
    assert "apt-get install python3-dev" in " ".join(done.stderr.split())
    assert "sudo apt install python3-dev" in TEXT


def test_faq02_the_tokenizers_are_part_of_the_package() -> None:
    (block,) = [b for b in blocks(PAGE) if "tokenizers" in b.code]
    exec(block.code, {})
    assert "No module named 'pytorch_tokenizers'" in TEXT
    assert "No module named 'pytorch_tokenizers'" in python("import pytorch_tokenizers")


def test_a_package_that_is_not_built() -> None:
    hide = 'import sys; sys.modules["sdk.extension.pybindings._portable_lib"] = None; import sdk.runtime'
    check("The runtime's extension module is not built for this Python", python(hide))


def test_an_extra_that_is_missing() -> None:
    hide = 'import sys; sys.modules["torch"] = None; from sdk.exir import to_edge'
    check("Exporting needs PyTorch", python(hide))


def test_faq03_an_operator_without_out_variant() -> None:
    program = to_edge(export(Function(torch.ops.my_ops.mul3), (torch.ones(2),)))
    check("Missing out variants: {'my_ops::mul3'}", message_of(program.to_executorch))


def test_faq04_an_operator_without_kernel() -> None:
    """FAQ-04: the message here differs from the one in the original's document."""
    program = export(Function(torch.linalg.eigvals), (torch.eye(3),))
    check("Operator ... is not Aten Canonical", message_of(lambda: to_edge(program)))
    assert "PyTorch convert function for op ..." in TEXT


def test_a_model_in_training_mode() -> None:
    notes = to_edge(export(nn.Dropout().train(), (torch.ones(2),)))._report
    assert any("computes as in training" in note for note in notes) and "computes as in training" in TEXT


def test_faq05_inference_is_slow() -> None:
    """FAQ-05: the answer has Release builds, delegates, threads and measuring; the calls that it names exist."""
    answer = sections()["Inference is slow"]
    for words in ("-DCMAKE_BUILD_TYPE=Release", "XNNPACK", "_unsafe_reset_threadpool(4)", "four, or half of the cores"):
        assert words in answer
    from sdk.extension.pybindings import portable_lib

    before = portable_lib._threadpool_get_thread_count()
    try:
        portable_lib._unsafe_reset_threadpool(4)
        assert portable_lib._threadpool_get_thread_count() == 4
    finally:
        portable_lib._unsafe_reset_threadpool(before)


def program_of(part: str) -> Path:
    (block,) = [b for b in blocks(PAGE) if b.language == "cpp" and part in b.code]
    return build(block)


def test_faq07_log_messages_of_an_override() -> None:
    """The program defines et_pal_emit_log_message, and exits with 0 if it received the message; nothing prints it."""
    assert run([program_of("et_pal_emit_log_message")]) == ""


def test_faq08_inputs_of_another_shape() -> None:
    """FAQ-08: for a fixed shape, and for sizes above the bound of a dynamic one."""

    def program(**options) -> bytes:
        return to_edge(export(Function(torch.neg), (torch.ones(2, 3),), **options)).to_executorch().buffer

    bounded = program(dynamic_shapes={"args": ({1: Dim("n", min=1, max=16)},)})
    load(bounded, torch.ones(2, 16))
    texts = []
    n = Dim("n", max=8)
    pair = export(Function(torch.add), (torch.ones(2), torch.ones(2)), dynamic_shapes={"args": ({0: n}, {0: n})})
    for buffer, *inputs in (
        (program(), torch.ones(2, 4)),
        (bounded, torch.ones(2, 17)),
        (to_edge(pair).to_executorch().buffer, torch.ones(4), torch.ones(5)),
    ):
        with pytest.raises(ExecuTorchError) as caught:
            load(buffer, *inputs)
        assert (caught.value.code, caught.value.error) == (0x12, "InvalidArgument")
        texts.append(str(caught.value))
    check("Input 0 must have sizes (2, 3), found (2, 4)", *texts)


def test_faq09_an_operator_that_is_not_linked() -> None:
    LIBRARY_OF_THE_PAGE.define("mul3(Tensor x) -> Tensor")
    LIBRARY_OF_THE_PAGE.define("mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    for name in ("mul3", "mul3.out"):
        LIBRARY_OF_THE_PAGE.impl(name, lambda x, out=None: 3 * x, "CompositeExplicitAutograd")
    torch.library.register_fake("faq_ops::mul3", torch.empty_like, lib=LIBRARY_OF_THE_PAGE)
    buffer = to_edge(export(Function(torch.ops.faq_ops.mul3), (torch.ones(2),))).to_executorch().buffer
    with pytest.raises(ExecuTorchError) as caught:
        load(buffer)
    assert (caught.value.code, caught.value.error) == (0x14, "OperatorMissing")
    check("Error 0x14, OperatorMissing", str(caught.value))


def test_faq10_a_backend_that_is_not_linked() -> None:
    program = to_edge(export(nn.ReLU(), (torch.ones(2),))).exported_program()
    lowered = to_backend("BackendOfNobody", program, [])
    buffer = to_edge(export(lowered, (torch.ones(2),))).to_executorch().buffer
    with pytest.raises(ExecuTorchError) as caught:
        load(buffer)
    assert (caught.value.code, caught.value.error) == (0x20, "NotFound")
    check("Error 0x20, NotFound", str(caught.value))


def test_faq11_an_operator_that_two_libraries_have() -> None:
    """FAQ-11: the error names the operator, and the process continues; the original's ends."""
    check("The kernel ... is registered already", run([program_of("faq_ops::twice.out")]))


def test_faq12_the_codes_of_errors() -> None:
    """FAQ-12: error.h and Python have the numbers that the original's document gives."""
    header = (ROOT / "sdk/cpp/executorch/runtime/core/error.h").read_text(encoding="utf-8")
    numbers = {name: int(number, 16) for name, number in re.findall(r"^  (\w+) = (0x\w+),", header, re.MULTILINE)}
    documented = {"Ok": 0, "NotSupported": 0x10, "OperatorMissing": 0x14, "NotFound": 0x20}
    assert documented.items() <= numbers.items()
    assert "`executorch/runtime/core/error.h`" in TEXT
    assert len(set(numbers.values())) == len(numbers) >= 20
