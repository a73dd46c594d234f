# SPDX-License-Identifier: BSD-3-Clause
"""What is selected on a page: by links of tables, after a change of the method, by a tensor of the memory plan."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from browser import Browser

from sdk.devtools.page import write_page
from sdk.exir import to_edge

SELECTED = "document.querySelector('#graph .selected > .title')?.textContent"
TITLES = "[...document.querySelectorAll('#graph .title')].map(e => e.textContent)"
LINKS = "[...document.querySelectorAll('#panel-time .table')][0].querySelectorAll('tbody .link')"
CHANGE = "(e => {{ e.value = '{}'; e.dispatchEvent(new Event('change')); }})(document.getElementById('{}'))"


@pytest.mark.parametrize("by", ["modules", "delegates", "none"])
def test_a_link_selects_what_it_names(chromium: Browser, page: Path, by: str) -> None:
    """A module of a table is selected where the graph has a group for it, and its first node where it has none."""
    chromium.open(page)
    chromium.evaluate(CHANGE.format(by, "group"))
    nodes = chromium.evaluate("JSON.parse(document.getElementById('data').textContent).methods[0].nodes")
    modules = chromium.evaluate("JSON.parse(document.getElementById('data').textContent).methods[0].modules")
    names = chromium.evaluate(f"[...{LINKS}].map(e => e.textContent)")
    assert {"stem", "head"} <= set(names)
    for number, name in enumerate(names):
        chromium.evaluate(f"{LINKS}[{number}].click()")
        module = name.split(" › ")
        first = next(i for i, node in enumerate(nodes) if "module" in node and _is_inside(modules, node, module))
        title, place = chromium.evaluate(SELECTED), chromium.evaluate("document.querySelector('#graph .selected').id")
        assert place == f"n{first}" if by == "none" else title.startswith(f"{module[-1]} · "), (name, title, place)
        assert chromium.evaluate("document.querySelectorAll('#graph .selected').length") == 1
    assert chromium.errors == []


def _is_inside(modules: list[list], node: dict, wanted: list[str]) -> bool:
    """Whether the module of a node is the wanted one or inside of it."""
    paths, number = [], node["module"]
    while number >= 0:
        paths.append(modules[number][1])
        number = modules[number][0]
    return ".".join(wanted) in paths


@pytest.fixture(scope="module")
def two_methods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a program with two methods of different length."""

    class Long(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sin().cos().tan().exp()

    class Short(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.neg()

    inputs = (torch.ones(2, 8),)
    both = {name: torch.export.export(net, inputs) for name, net in (("long", Long()), ("short", Short()))}
    folder = tmp_path_factory.mktemp("two")
    to_edge(both).to_executorch().save(str(folder / "two.pte"))
    write_page(folder / "two.pte", folder / "two.html")
    return folder / "two.html"


def test_another_method_has_nothing_selected(chromium: Browser, two_methods: Path) -> None:
    chromium.open(two_methods)
    for first, second in ((0, 1), (1, 0)):
        chromium.evaluate(CHANGE.format(first, "method"))
        chromium.evaluate("document.getElementById('graph').focus()")
        chromium.press("ArrowDown")
        assert chromium.evaluate(SELECTED)
        chromium.evaluate(CHANGE.format(second, "method"))
        assert chromium.evaluate(SELECTED) is None
    assert chromium.errors == []


@pytest.mark.parametrize("shown", [0, 1])
def test_a_tensor_of_another_method_shows_that_method(chromium: Browser, two_methods: Path, shown: int) -> None:
    """The memory plans of all methods are on one panel."""
    chromium.open(two_methods)
    chromium.evaluate(CHANGE.format(shown, "method"))
    chromium.evaluate(
        f"[...document.querySelectorAll('#panel-memory [data-method]')][{1 - shown}].querySelector('.box')"
        ".dispatchEvent(new MouseEvent('click', { bubbles: true }))"
    )
    assert chromium.evaluate("document.getElementById('method').value") == str(1 - shown)
    assert ("neg" if shown == 0 else "sin") in " ".join(chromium.evaluate(TITLES))
    assert chromium.evaluate(SELECTED)
    assert chromium.errors == []
