# SPDX-License-Identifier: BSD-3-Clause
"""docs/getting_started.md: the output of its commands and programs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from page_programs import ROOT, build
from tutorial_models import SimpleConv

from sdk.exir import to_edge
from sdk.runtime import Runtime

from blocks import blocks

PAGE = ROOT / "docs" / "getting_started.md"
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def first_steps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Runs the page's Python in a folder. Returns the folder and the variables."""
    folder = tmp_path_factory.mktemp("first_steps")
    (folder / "examples").symlink_to(ROOT / "examples")
    variables: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        for block in blocks(PAGE):
            if block.language == "python":
                exec(compile(block.code, str(PAGE), "exec"), variables)
    return folder, variables


def test_gs06_gs07_mobilenet_is_lowered_to_xnnpack(first_steps: tuple[Path, dict[str, Any]]) -> None:
    """GS-06, GS-07: the document's calls give a file with the bytes of `buffer`, and XNNPACK takes all operators."""
    folder, variables = first_steps
    code = "".join(block.code for block in blocks(PAGE) if block.language == "python")
    assert "from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner" in code
    assert "from sdk.exir import to_edge_transform_and_lower" in code
    written = (folder / "model.pte").read_bytes()
    assert written == variables["et_program"].buffer
    (plan,) = variables["et_program"].executorch_program.execution_plan
    assert {delegate.id for delegate in plan.delegates} == {"XnnpackBackend"} and plan.operators == []


def test_gs08_gs09_the_result_is_pytorchs(first_steps: tuple[Path, dict[str, Any]]) -> None:
    """GS-08, GS-09: the output is a list of torch tensors, equal to PyTorch's within the document's tolerances."""
    folder, variables = first_steps
    runtime = Runtime.get()
    program = runtime.load_program(folder / "model.pte")
    method = program.load_method("forward")
    input_tensor = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    output = method.execute([input_tensor])
    assert isinstance(output, Sequence) and all(isinstance(tensor, torch.Tensor) for tensor in output)
    with torch.no_grad():
        expected = variables["model"](input_tensor)
    assert expected.abs().max() > 0.1, "the outputs are too small for the absolute tolerance"
    assert torch.allclose(output[0], expected, rtol=1e-3, atol=1e-5)


def test_gs15_the_cpp_program_prints_the_class(first_steps: tuple[Path, dict[str, Any]]) -> None:
    """GS-15: the C++ program uses Module and from_blob with 1 x 3 x 224 x 224; it gives PyTorch's class for zeros."""
    folder, variables = first_steps
    (block,) = [block for block in blocks(PAGE) if block.language == "cpp"]
    assert "from_blob(input, {1, 3, 224, 224})" in block.code
    with torch.no_grad():
        best = int(variables["model"](torch.zeros(1, 3, 224, 224)).argmax())
    done = subprocess.run([build(block)], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == f"class {best} of 1000\n"


def test_gs10_gs11_what_the_page_advises() -> None:
    """GS-10: the page says where to find exported programs. GS-11: it says which backend to begin with."""
    assert "https://huggingface.co/executorch-community" in TEXT
    rows = dict(
        re.findall(r"\| ([^|]+?) \| ([^|]+?) \|", TEXT.partition("### Which backend")[2].partition("## C++")[0])
    )
    assert rows["Android"].startswith("XNNPACK")
    assert rows["iPhone, iPad, Mac"] == "Core ML, or XNNPACK for the CPU"
    assert "| Android | XNNPACK, for the CPU | Vulkan, for GPUs |" in TEXT


def test_gs18_the_first_pages() -> None:
    """GS-18: getting started, exporting, building, in this order, and what is needed."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    section = index.partition("## Quick start")[2].partition("\n## ")[0]
    assert re.findall(r"^- \[[^]]+\]\((\w+\.md)\)", section, re.MULTILINE) == [
        "getting_started.md",
        "export.md",
        "building.md",
    ]
    assert "| Python | 3.10 to 3.14" in TEXT and "| PyTorch |" in TEXT


def test_every_platform_has_a_section_of_one_screen() -> None:
    """Each section leads from installation to a first result in at most 60 lines and links to the next steps."""
    sections = re.split(r"^## (.+)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert {"Python", "C++", "Android", "iOS and macOS", "A microcontroller"} < set(found)
    for name in ("Python", "C++", "Android", "iOS and macOS", "A microcontroller"):
        assert len(found[name].partition("\n### ")[0].splitlines()) <= 60, name
        assert "Read on:" in found[name], name


def test_simple_conv_of_the_tutorial_runs() -> None:
    """CPP-15: 1 x 3 x 256 x 256, against eager."""
    torch.manual_seed(0)
    model = SimpleConv().eval()
    image = torch.randn(1, 3, 256, 256)
    program = to_edge(torch.export.export(model, (image,))).to_executorch()
    (y,) = Runtime.get().load_program(program.buffer).load_method("forward").execute([image])
    torch.testing.assert_close(y, model(image))
