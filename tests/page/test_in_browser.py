# SPDX-License-Identifier: BSD-3-Clause
"""Pages in headless Chromium: what they show, what the keys do, and that files cannot execute code."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from browser import Browser

from declared import default
from sdk.devtools import Inspector
from sdk.devtools.page import _write, write_page
from sdk.devtools.page._graph import Graph, GraphNode, Weight
from sdk.devtools.page._program import DelegateCall
from sdk.exir import to_edge
from sdk.runtime import Runtime

DETAILS = "document.querySelector('#details').innerText"
SELECTED = "document.querySelector('#graph .selected > .title')?.textContent"
TITLES = "[...document.querySelectorAll('#graph .title')].map(e => e.textContent)"


def test_the_graph_with_its_modules(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    titles = chromium.evaluate(TITLES)
    assert titles[0] == "Net"
    assert {"stem · Conv2d", "blocks · Sequential", "head · Linear", "x", "output", "cumsum"} <= set(titles)
    # Collapsed modules are not drawn; a click on the sign of a module expands it.
    chromium.click("#collapse")
    assert "convolution" not in chromium.evaluate(TITLES)
    stem = chromium.evaluate("[...document.querySelectorAll('.closed')].find(e => e.textContent.startsWith('stem')).id")
    chromium.click(f"#{stem} .sign")
    assert chromium.evaluate(TITLES).count("convolution") == 1
    assert chromium.evaluate(f"document.getElementById('{stem}').getAttribute('aria-expanded')") == "true"
    chromium.click("#expand")
    assert chromium.evaluate(TITLES).count("convolution") == 3
    assert chromium.errors == []
    assert chromium.requests == [page.as_uri()], "a page requests nothing but itself"


def test_delegates_as_groups_and_colours(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    assert default().id in chromium.evaluate("document.getElementById('legend').innerText")
    chromium.evaluate(
        "(e => { e.value = 'delegates'; e.dispatchEvent(new Event('change')); })(document.getElementById('group'))"
    )
    titles = chromium.evaluate(TITLES)
    assert [t for t in titles if t.startswith(default().id)] == [
        f"{default().id} · instruction 0",
        f"{default().id} · instruction 2",
    ]
    chromium.evaluate(
        "(e => { e.value = 'none'; e.dispatchEvent(new Event('change')); })(document.getElementById('group'))"
    )
    assert len(chromium.evaluate("[...document.querySelectorAll('.item.open')]")) == 1
    chromium.evaluate(
        "(e => { e.value = 'time'; e.dispatchEvent(new Event('change')); })(document.getElementById('colour'))"
    )
    assert chromium.evaluate("document.querySelectorAll('.item.heat5').length") >= 1


def test_search_and_keys(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    chromium.press("/")
    assert chromium.evaluate("document.activeElement.id") == "search"
    chromium.type("cumsum")
    assert chromium.evaluate("document.querySelectorAll('#found [role=option]').length") == 1
    chromium.press("Enter")
    assert chromium.evaluate(SELECTED) == "cumsum"
    assert chromium.evaluate("document.activeElement.id") == "graph"
    chromium.press("ArrowDown")
    assert chromium.evaluate(SELECTED) == "linear"
    chromium.press("ArrowUp")
    chromium.press("ArrowUp")
    assert chromium.evaluate(SELECTED) == "mean"
    chromium.press("ArrowDown")
    chromium.press("ArrowDown")
    chromium.press("Escape")
    assert chromium.evaluate(SELECTED) == "head · Linear"
    chromium.press("Enter")  # collapses the module
    assert chromium.evaluate("document.querySelector('.selected').getAttribute('aria-expanded')") == "false"
    assert "collapsed" in chromium.evaluate("document.getElementById('said').textContent")
    chromium.press("Escape")
    assert chromium.evaluate(SELECTED) is None
    chromium.press("/")
    chromium.type("no such node")
    assert "nothing was found" in chromium.evaluate("document.getElementById('found').innerText")


def test_a_click_shows_time_and_source_lines(chromium: Browser, page: Path, recorded: Path) -> None:
    chromium.open(page)
    chromium.click("#collapse")
    chromium.press("/")
    chromium.type("aten_cumsum_default")
    chromium.press("Enter")
    chromium.click(".selected > .title")
    details = chromium.evaluate(DETAILS)
    source = Path(__file__).with_name("conftest.py").read_text().splitlines()
    line = next(i for i, text in enumerate(source, 1) if "cumsum(1)" in text)
    assert f"conftest.py:{line}" in details and source[line - 1].strip() in details
    assert "float32[1, 8]" in details and "a kernel" in details
    inspector = Inspector(etdump_path=str(recorded / "net.etdp"), etrecord=str(recorded / "net.etrecord"))
    event = next(
        e for e in inspector.get_event_list() if e.name == "OPERATOR_CALL" and "aten.cumsum.default" in e.op_types
    )
    assert event.perf_data is not None
    shown = details.split("mean\n")[1].split("\u00a0")[0]
    assert float(shown) == pytest.approx(event.perf_data.avg, rel=0.01)


def test_times_by_module_are_those_of_the_inspector(chromium: Browser, page: Path, recorded: Path) -> None:
    chromium.open(page)
    chromium.click("#tab-time")
    rows = chromium.evaluate(
        "[...document.querySelectorAll('#panel-time .table')][0].innerText.split('\\n').map(line => line.split('\\t'))"
    )
    found = {row[0]: float(row[3].split("\u00a0")[0]) for row in rows if len(row) > 3 and "\u00a0ms" in row[3]}
    inspector = Inspector(etdump_path=str(recorded / "net.etdp"), etrecord=str(recorded / "net.etrecord"))
    timed = [(event, event.perf_data.avg) for event in inspector.get_event_list() if event.perf_data]
    # The times that the backend measured for the operators of a module. The second delegate call has one operator only.
    stem = [t for e, t in timed if e.is_delegated_op and all(_is_in("stem", m) for m in e.module_hierarchy.values())]
    head = [t for e, t in timed if e.name == "DELEGATE_CALL" and e._instruction_id == 2]
    assert len(stem) == 2 and found["stem"] == pytest.approx(sum(stem), rel=0.01)
    assert len(head) == 1 and found["head"] == pytest.approx(head[0], rel=0.01)
    # Shares of all tables without a second count add up to the call.
    total = chromium.evaluate("JSON.parse(document.getElementById('data').textContent).methods[0].times.total")
    events = chromium.evaluate("JSON.parse(document.getElementById('data').textContent).methods[0].times")
    assert sum(e["mean"] for e in events["events"]) + events["rest"] == pytest.approx(total)


def _is_in(module: str, hierarchy: dict[str, tuple[str, str]]) -> bool:
    return any(path == module for path, _ in hierarchy.values())


def test_memory_sizes_and_numeric_gap(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    chromium.click("#tab-memory")
    assert chromium.evaluate("document.querySelectorAll('#panel-memory .plan .box').length") >= 3
    chromium.evaluate(
        "document.querySelector('#panel-memory .box:last-of-type')"
        ".dispatchEvent(new MouseEvent('click', { bubbles: true }))"
    )
    assert chromium.evaluate("document.getElementById('panel-graph').hidden") is False
    assert chromium.evaluate(SELECTED)
    chromium.click("#tab-sizes")
    sizes = chromium.evaluate("document.getElementById('panel-sizes').innerText")
    assert default().id in sizes and "stem.weight" in sizes
    assert f"{(3 * 8 * 9) * 4} B" in sizes.replace("\u00a0", " ")  # stem.weight
    chromium.click("#tab-gap")
    rows = chromium.evaluate("document.querySelectorAll('#panel-gap tbody tr').length")
    assert rows >= 3
    assert "aten_cumsum_default" in chromium.evaluate("document.getElementById('panel-gap').innerText")
    assert chromium.errors == []


TABS = ("graph", "time", "memory", "sizes", "gap", "report")


@pytest.mark.parametrize("width", [360, 400, 700])
def test_on_a_phone(chromium: Browser, page: Path, width: int) -> None:
    """The graph is as wide as the screen and at least 400 pixels high, nothing is wider than the screen, and no word in
    a table is broken into lines."""
    chromium.open(page, width, 800)
    graph = chromium.evaluate(
        "(b => [b.width, b.height, b.bottom])(document.getElementById('graph').getBoundingClientRect())"
    )
    assert graph[0] >= width - 1 and graph[1] >= 400
    details = chromium.evaluate("document.getElementById('details').getBoundingClientRect().top")
    assert details >= graph[2] - 1
    for tab in TABS:
        chromium.click(f"#tab-{tab}")
        assert chromium.evaluate("document.documentElement.scrollWidth") == width, tab
        beside = chromium.evaluate(
            f"[...document.querySelectorAll('#panel-{tab} > *')]"
            f".filter(e => e.getBoundingClientRect().right > {width} + 1)"
            ".map(e => e.outerHTML.slice(0, 200))"
        )
        assert beside == [], tab
        broken = chromium.evaluate(  # a cell with a word that is broken into several lines
            f"[...document.querySelectorAll('#panel-{tab} th, #panel-{tab} td')].filter(cell => {{"
            "  const words = cell.innerText.trim().split(/[\\s]+/);"
            "  const pen = document.createElement('canvas').getContext('2d');"
            "  pen.font = getComputedStyle(cell).font;"
            "  return words.some(word => pen.measureText(word).width > cell.clientWidth + 40); })"
            ".map(cell => cell.innerText)"
        )
        assert broken == [], tab
    chromium.click("#tab-memory")
    heights = chromium.evaluate(
        "[...document.querySelectorAll('#panel-memory .tick')].map(text => text.getBoundingClientRect().height)"
    )
    assert len(heights) >= 6 and min(heights) >= 10
    # A link in a table leads to the graph, which is then visible.
    chromium.click("#tab-gap")
    chromium.evaluate("window.scrollTo(0, 1000)")
    chromium.evaluate("document.querySelector('#panel-gap tbody .link').click()")
    top = chromium.evaluate("document.getElementById('graph').getBoundingClientRect().top")
    assert chromium.evaluate(SELECTED) and 0 < top < 500
    assert chromium.errors == []


def test_light_and_dark(chromium: Browser, page: Path) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    chromium.open(page, dark=True)
    assert chromium.evaluate(background) == "rgb(18, 21, 26)"
    assert _contrast(chromium) >= 4.5
    chromium.click("#theme")  # from the system's choice to light
    assert chromium.evaluate(background) == "rgb(255, 255, 255)"
    chromium.click("#theme")
    assert chromium.evaluate(background) == "rgb(18, 21, 26)"
    chromium.click("#theme")
    chromium.open(page, dark=False)
    assert chromium.evaluate(background) == "rgb(255, 255, 255)"
    assert _contrast(chromium) >= 4.5


def _contrast(chromium: Browser) -> float:
    """The least contrast between text and its background, by the formula of WCAG 2."""
    colours = chromium.evaluate(
        "(() => { const v = n => getComputedStyle(document.documentElement).getPropertyValue(n).trim();"
        "return { text: ['--ink', '--dim', '--accent'].map(v), on: ['--paper', '--panel', '--box'].map(v) }; })()"
    )

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    found = []
    for text, on in itertools.product(colours["text"], colours["on"]):
        high, low = sorted((luminance(text), luminance(on)), reverse=True)
        found.append((high + 0.05) / (low + 0.05))
    return min(found)


def test_what_can_be_used_has_a_name(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    unnamed = chromium.evaluate(
        "[...document.querySelectorAll('button, input, select, svg[role], g[role], [role=tabpanel]')].filter(e =>"
        "!e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby') &&"
        "!e.textContent.trim() && !e.labels?.length)"
        ".map(e => e.outerHTML)"
    )
    assert unnamed == []
    # Tabs: the arrows move between them, and one panel is visible.
    chromium.evaluate("document.getElementById('tab-graph').focus()")
    chromium.press("ArrowRight")
    assert chromium.evaluate("document.activeElement.id") == "tab-time"
    assert chromium.evaluate("document.querySelectorAll('[role=tabpanel]:not([hidden])').length") == 1


EVIL = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 2'>&lt;\u2028 "


def test_names_of_files_run_nothing(
    chromium: Browser, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, modules, source lines, backends and weights are shown as they are written in the file."""
    nodes = [
        GraphNode(EVIL + str(i), f"{EVIL}.x", "op", [EVIL], 4, [i - 1] if i else [], [Weight(EVIL, EVIL, 4)],
                  (("", EVIL), (EVIL, EVIL)), ((EVIL, 1, EVIL, EVIL),), instruction=i, partition=i)
        for i in range(2)
    ]  # fmt: skip
    calls = [DelegateCall(EVIL, 0, 4), DelegateCall(EVIL, 1, 4)]
    graph = Graph(EVIL, nodes, calls)
    read = _write.read_program

    def evil_program(path: Path) -> object:
        program = read(path)
        method = program.facts.methods[0]
        method.name = EVIL
        method.operators[EVIL] = 1
        method.delegates[EVIL] = 1
        method.tensors = [replace(tensor, made_by=EVIL, type=EVIL) for tensor in method.tensors]
        program.sizes[EVIL] = 1
        return program

    monkeypatch.setattr(_write, "read_program", evil_program)
    monkeypatch.setattr(_write, "_graph", lambda file, record: graph)
    out = tmp_path / "evil.html"
    write_page(recorded / "net.pte", out)
    chromium.open(out)
    chromium.press("/")
    chromium.type("onerror")
    chromium.press("Enter")
    for tab in ("time", "memory", "sizes", "gap", "report", "graph"):
        chromium.click(f"#tab-{tab}")
    assert EVIL.strip() in chromium.evaluate("document.getElementById('details').textContent")
    assert chromium.evaluate("document.querySelectorAll('img').length") == 0
    assert chromium.evaluate("document.scripts.length") == 3
    assert chromium.evaluate("typeof window.ran") == "undefined"
    assert chromium.requests == [out.as_uri()]
    # If the page had a user's markup, its policy would keep scripts in it from running.
    chromium.evaluate("document.body.insertAdjacentHTML('beforeend', \"<img src='data:,' onerror='window.ran = 3'>\")")
    chromium.evaluate("new Promise(done => setTimeout(done, 50))")
    assert chromium.evaluate("typeof window.ran") == "undefined"


class Layer(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 32), torch.nn.GELU(), torch.nn.Linear(32, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


def test_the_page_of_an_exported_model_of_3000_nodes(chromium: Browser, tmp_path: Path) -> None:
    """A transformer of 49 layers with its ETRecord and the times of a run: a file of less than 20 MB, which opens with
    its modules collapsed and can be searched. The page docs/page.md has the time in which it opens."""
    torch.manual_seed(0)
    inputs = (torch.randn(1, 4, 16),)
    model = torch.nn.Sequential(*(Layer(16) for _ in range(49))).eval()
    manager = to_edge(torch.export.export(model, inputs), generate_etrecord=True).to_executorch()
    manager.save(str(tmp_path / "deep.pte"))
    record = manager.get_etrecord()
    assert record is not None
    record.exported_program = None  # so that the page shows the edge program
    record.save(str(tmp_path / "deep.etrecord"))
    loaded = Runtime.get().load_program(tmp_path / "deep.pte", enable_etdump=True)
    method = loaded.load_method("forward")
    assert method is not None
    method.execute(inputs)
    loaded.write_etdump_result_to_file(str(tmp_path / "deep.etdp"))
    out = tmp_path / "deep.html"
    write_page(tmp_path / "deep.pte", out, etdump=tmp_path / "deep.etdp", etrecord=tmp_path / "deep.etrecord")
    assert out.stat().st_size < 20e6
    chromium.open(out)
    assert int(chromium.evaluate("document.documentElement.dataset.ready")) > 0  # milliseconds
    titles = chromium.evaluate(TITLES)
    assert {"0 · Layer", "48 · Layer"} <= set(titles) and len(titles) < 120
    chromium.click("#expand")
    assert chromium.evaluate("document.querySelectorAll('.item.op').length") >= 3000
    chromium.click("#collapse")
    chromium.press("/")
    chromium.type("47.mlp.1")
    chromium.press("Enter")
    chromium.press("Enter")
    assert "47.mlp.1" in chromium.evaluate(DETAILS)
    assert chromium.errors == []


def test_3000_nodes_without_modules(
    chromium: Browser, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph without modules cannot be collapsed. It can be expanded and searched."""
    nodes = []
    for i in range(3000):
        frames = (("/model/net.py", 10 + i % 40, "forward", "x = self.layers(x)"),)
        inputs = [i - 1, i - 1 - i % 7] if i > 7 else [i - 1] if i else []
        node = GraphNode(f"aten_add_tensor_{i}", "aten.add.Tensor", "op", ["float32[1, 64, 56, 56]"], 802816, inputs)
        node.weights = [Weight(f"w{i}", "float32[64]", 256)]
        node.frames, node.handles, node.instruction = frames, (i + 1,), i
        nodes.append(node)
    graph = Graph("forward", nodes, [])
    monkeypatch.setattr(_write, "_graph", lambda file, record: graph)
    out = tmp_path / "large.html"
    write_page(recorded / "net.pte", out)
    assert out.stat().st_size < 20e6
    chromium.open(out)
    assert chromium.evaluate("document.querySelectorAll('.item').length") < 120
    chromium.click("#expand")
    assert chromium.evaluate("document.querySelectorAll('.item.op').length") == 3000
    chromium.click("#collapse")
    chromium.press("/")
    chromium.type("tensor_2999")
    chromium.press("Enter")
    assert chromium.evaluate(SELECTED) == "add"
    assert "aten_add_tensor_2999" in chromium.evaluate(DETAILS)
    assert chromium.errors == []


def test_without_an_etrecord(chromium: Browser, recorded: Path, tmp_path: Path) -> None:
    out = tmp_path / "plain.html"
    write_page(recorded / "net.pte", out, etdump=recorded / "net.etdp")
    chromium.open(out)
    titles = chromium.evaluate(TITLES)
    assert titles.count(default().id) == 2 and "cumsum" in titles
    assert "pass its ETRecord" in chromium.evaluate(DETAILS)
    chromium.click("#tab-time")
    assert "aten::cumsum.out" in chromium.evaluate("document.getElementById('panel-time').innerText")
    assert chromium.errors == []


def test_pan_and_zoom(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    where = "document.getElementById('scene').getAttribute('transform')"
    before = chromium.evaluate(where)
    chromium.mouse("mousePressed", 100, 500)
    chromium.mouse("mouseMoved", 160, 540)
    chromium.mouse("mouseReleased", 160, 540)
    moved = chromium.evaluate(where)
    assert moved != before and moved.split("scale")[1] == before.split("scale")[1]
    chromium.mouse("mouseWheel", 400, 400, deltaX=0, deltaY=-200)
    chromium.wait(f"{where} !== {moved!r}")
    chromium.click("#fit")
    assert chromium.evaluate(
        "(b => b.left >= 0 && b.top >= 0)(document.getElementById('scene').getBoundingClientRect())"
    )
