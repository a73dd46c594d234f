# SPDX-License-Identifier: BSD-3-Clause
"""Pages beside that of `sdk inspect` on a phone: as wide as the screen, with axes of round numbers."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from browser import Browser

from sdk.exir import to_edge
from sdk.extension.llm.export.flame_graph import Call, FlameGraph
from sdk.util.memory_plan_page import write_memory_plan_page

LONG = "a_module_with_a_long_name.and_a_function_in_it"


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(torch.cumsum(x, 1) * 2.5, 1).softmax(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pages")
    program = to_edge(torch.export.export(Net(), (torch.randn(3, 417),))).to_executorch()
    write_memory_plan_page(program, found / "plan.html")
    flames = FlameGraph(found / "flames.html", "An export")
    flames.root = Call(2.0, {LONG: Call(2.0, {LONG: Call(1.5), "short": Call(0.5)})})
    (found / "flames.html").write_text(flames.page())
    return found


@pytest.mark.parametrize("name", ["plan", "flames"])
@pytest.mark.parametrize("width", [360, 400])
def test_a_page_is_as_wide_as_the_screen(chromium: Browser, folder: Path, name: str, width: int) -> None:
    chromium.open_on_phone(folder / f"{name}.html", width)
    assert chromium.evaluate("[document.documentElement.scrollWidth, window.innerWidth]") == [width, width]
    assert chromium.errors == []


def test_the_axes_of_the_plan_have_round_numbers(chromium: Browser, folder: Path) -> None:
    chromium.open_on_phone(folder / "plan.html", 400)
    texts = chromium.evaluate("[...document.querySelectorAll('.tick')].map(text => text.textContent)")
    labels = [float(re.split(r"\s", text)[0]) for text in texts if text != "instruction"]
    steps = [after - before for before, after in pairwise(labels) if after > before]
    assert len(steps) > 4
    assert all(step / 10 ** math.floor(math.log10(step)) in (1, 2, 5) for step in steps), texts
