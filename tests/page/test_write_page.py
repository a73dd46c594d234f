# SPDX-License-Identifier: BSD-3-Clause
"""`write_page`: what it reads, what it refuses, and that texts from files are escaped."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from declared import default, quantizer
from sdk.__main__ import main
from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.devtools.page import PageError, _write, write_page
from sdk.devtools.page._data import embedded
from sdk.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from sdk.runtime import Runtime


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu())


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 8, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x)[0].sigmoid()


class Elementwise(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin().cos().exp()


@dataclass
class Recording:
    folder: Path
    manager: Any

    def __getitem__(self, name: str) -> Path:
        return self.folder / name


def record(folder: Path, model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Recording:
    """m.pte, m.etrecord and m.etdp of three runs on kernels."""
    edge = to_edge_transform_and_lower(torch.export.export(model.eval(), inputs), generate_etrecord=True)
    manager = edge.to_executorch()
    manager.save(str(folder / "m.pte"))
    manager.get_etrecord().save(str(folder / "m.etrecord"))
    loaded = Runtime.get().load_program(folder / "m.pte", enable_etdump=True)
    method = loaded.load_method("forward")
    for _ in range(3):
        method.execute(inputs)
    loaded.write_etdump_result_to_file(str(folder / "m.etdp"))
    return Recording(folder, manager)


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    torch.manual_seed(0)
    return record(tmp_path_factory.mktemp("net"), Net(), (torch.randn(3, 4),))


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    torch.manual_seed(0)
    return record(tmp_path_factory.mktemp("recurrent"), Recurrent(), (torch.randn(1, 3, 4),))


def data_of(page: Path) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_nodes_modules_weights_and_source_lines(net: Recording, tmp_path: Path) -> None:
    write_page(net["m.pte"], tmp_path / "p.html", etrecord=net["m.etrecord"])
    (method,) = data_of(tmp_path / "p.html")["methods"]
    nodes = {node["name"]: node for node in method["nodes"]}
    assert [n["kind"] for n in method["nodes"]].count("input") == 1 and method["nodes"][-1]["kind"] == "output"
    relu = next(node for node in nodes.values() if node["op"] == "aten.relu.default")
    assert relu["outputs"] == ["float32[3, 8]"] and relu["bytes"] == 3 * 8 * 4
    assert method["nodes"][relu["inputs"][0]]["op"].startswith(("aten.addmm", "aten.linear"))
    file, line, function, code = method["frames"][relu["frames"][-1]]
    assert Path(file) == Path(__file__) and function == "forward" and "self.first(x).relu()" in code
    assert Path(file).read_text().splitlines()[line - 1].strip() == code
    weights = {w["name"]: w for w in method["weights"]}
    assert weights["first.weight"] == {"name": "first.weight", "type": "float32[8, 4]", "bytes": 128, "state": False}
    assert {path for _, path, _ in method["modules"]} == {"", "first", "second"}


def quantized(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> torch.nn.Module:
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer())
    prepared(*inputs)
    return convert_pt2e(prepared)


class Convolutions(torch.nn.Module):
    """Weights whose layout backends change: the filter of a convolution, a depthwise filter, and a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.deep = torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 8, 3, groups=8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.deep(self.stem(x).relu()).mean((2, 3)))


def parts_of(page: Path) -> list[str]:
    section = page.read_text().split("<h2>Parts of the file</h2>")[1].split('<div id="weights">')[0]
    return re.findall(r"<code>(.*?)</code>", section)


@pytest.mark.parametrize("is_quantized", [False, True], ids=["float32", "int8"])
def test_weights_in_delegates_have_names(is_quantized: bool, tmp_path: Path) -> None:
    """A delegate's data is named by the hash of its bytes; only an ETRecord has the weights' names."""
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 16, 16),)
    model = Convolutions().eval()
    exported = torch.export.export(quantized(model, inputs) if is_quantized else model, inputs)
    partitioner = [default().make("partitioner")]
    manager = to_edge_transform_and_lower(exported, partitioner=partitioner, generate_etrecord=True).to_executorch()
    manager.save(str(tmp_path / "m.pte"))
    manager.get_etrecord().save(str(tmp_path / "m.etrecord"))
    write_page(tmp_path / "m.pte", tmp_path / "p.html", etrecord=tmp_path / "m.etrecord")
    parts = parts_of(tmp_path / "p.html")
    write_page(tmp_path / "m.pte", tmp_path / "alone.html")
    alone = parts_of(tmp_path / "alone.html")
    assert not any(re.search("[0-9a-f]{12}", part) for part in [*parts, *alone])
    assert any(re.fullmatch(r"\d+ parts of delegates without a name", part) for part in alone)
    assert "are in the ETRecord" in (tmp_path / "alone.html").read_text()
    for name in ("stem", "deep", "head"):
        wanted = f"weight {name}: _frozen_param" if is_quantized else f"weight {name}.weight"
        assert any(part.startswith(wanted) for part in parts), (wanted, parts)


class Streaming(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state: torch.Tensor
        self.register_buffer("state", torch.zeros(2, 4))
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x) + self.state
        self.state.copy_(x)
        return y


def test_a_streaming_model_has_times(tmp_path: Path) -> None:
    """The write-back of the buffer comes from no node; its time is that of the whole method."""
    recorded = record(tmp_path, Streaming(), (torch.randn(2, 4),))
    write_page(recorded["m.pte"], tmp_path / "p.html", recorded["m.etdp"], recorded["m.etrecord"])
    (method,) = data_of(tmp_path / "p.html")["methods"]
    plan = recorded.manager.executorch_program.execution_plan[0]
    assert plan.operators[plan.chains[0].instructions[-1].instr_args.op_index].name == "aten::copy_"
    events = {event["instruction"]: event["nodes"] for event in method["times"]["events"]}
    assert sorted(events) == list(range(len(plan.chains[0].instructions)))
    assert events[max(events)] == []


def test_each_instruction_has_its_node(recurrent: Recording, tmp_path: Path) -> None:
    """The nodes that an LSTM is decomposed into share a debug handle; each still has its own time."""
    write_page(recurrent["m.pte"], tmp_path / "p.html", recurrent["m.etdp"], recurrent["m.etrecord"])
    (method,) = data_of(tmp_path / "p.html")["methods"]
    calls = [e for e in method["times"]["events"] if e["nodes"]]
    assert len(calls) > 20 and method["times"]["runs"] == 3
    at = [method["nodes"][event["nodes"][0]] for event in calls]
    assert [len(event["nodes"]) for event in calls] == [1] * len(calls)
    assert [node["instruction"] for node in at] == [event["instruction"] for event in calls]
    assert len({node["name"] for node in at}) == len(at)
    plan = recurrent.manager.executorch_program.execution_plan[0]
    operators = [
        plan.operators[plan.chains[0].instructions[event["instruction"]].instr_args.op_index].name for event in calls
    ]
    assert [name.removeprefix("aten::") for name in operators] == [node["op"].split(".")[1] for node in at]
    times = method["times"]
    assert sum(event["mean"] for event in times["events"]) + times["rest"] == pytest.approx(times["total"])


def test_instructions_without_an_etrecord(net: Recording, tmp_path: Path) -> None:
    write_page(net["m.pte"], tmp_path / "p.html", net["m.etdp"])
    data = data_of(tmp_path / "p.html")
    (method,) = data["methods"]
    assert data["recorded"] is False
    ops = [node for node in method["nodes"] if node["kind"] == "op"]
    # A chain: each instruction reads what the one before it has written.
    assert method["nodes"][ops[0]["inputs"][0]]["kind"] == "input"
    assert all(method["nodes"].index(a) in b["inputs"] for a, b in itertools.pairwise(ops))
    assert method["nodes"][-1]["inputs"] == [method["nodes"].index(ops[-1])]
    assert sum(w["bytes"] for w in method["weights"]) == (4 * 8 + 8 + 8 * 2 + 2) * 4
    assert {e["nodes"][0] for e in method["times"]["events"]} == {method["nodes"].index(node) for node in ops}


@pytest.mark.parametrize(("scale", "factor", "unit"), [("us", 1e3, "ms"), ("s", 1e9, "ms"), ("cycles", 1e6, "cycles")])
def test_the_unit_of_the_ticks(net: Recording, tmp_path: Path, scale: str, factor: float, unit: str) -> None:
    """In ns by default; cycles have no length in seconds."""
    inspected = tmp_path / "inspected.html"
    files = ["--etdump", str(net["m.etdp"]), "--html", str(inspected)]
    assert main(["inspect", str(net["m.pte"]), *files, "--source-time-scale", scale]) == 0
    write_page(net["m.pte"], tmp_path / "ns.html", etdump=net["m.etdp"])
    found, expected = (data_of(page)["methods"][0]["times"] for page in (inspected, tmp_path / "ns.html"))
    assert found["unit"] == unit and found["total"] == pytest.approx(expected["total"] * factor)


def test_a_bundled_program(net: Recording, tmp_path: Path) -> None:
    bundle = BundledProgram(net.manager, [MethodTestSuite("forward", [MethodTestCase([torch.ones(3, 4)])])])
    (tmp_path / "m.bpte").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    write_page(tmp_path / "m.bpte", tmp_path / "p.html", etrecord=net["m.etrecord"])
    assert "test cases" in (tmp_path / "p.html").read_text()
    assert len(data_of(tmp_path / "p.html")["methods"]) == 1


@pytest.mark.parametrize("delegated", [False, True], ids=["kernels", "default backend"])
def test_branches_and_states(delegated: bool, tmp_path: Path) -> None:
    """Jumps and moves have the debug handle of `cond`. They are not counted as operators."""

    class Branches(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)) + self.count

    exported = torch.export.export(Branches(), (torch.ones(2),))
    partitioner = [default().make("partitioner")] if delegated else []
    edge = to_edge_transform_and_lower(exported, partitioner=partitioner, generate_etrecord=True)
    manager = edge.to_executorch(ExecutorchBackendConfig())
    manager.save(str(tmp_path / "m.pte"))
    manager.get_etrecord().save(str(tmp_path / "m.etrecord"))
    for record_path in (tmp_path / "m.etrecord", None):
        write_page(tmp_path / "m.pte", tmp_path / "p.html", etrecord=record_path)
        (method,) = data_of(tmp_path / "p.html")["methods"]
        assert any(weight["state"] for weight in method["weights"])
    write_page(tmp_path / "m.pte", tmp_path / "p.html", etrecord=tmp_path / "m.etrecord")
    (method,) = data_of(tmp_path / "p.html")["methods"]
    inside = [node["op"] for node in method["nodes"] if method["modules"][node.get("module", 0)][2] == "branch"]
    assert {"aten.sin.default", "aten.cos.default"} <= set(inside)


def test_two_methods(net: Recording, tmp_path: Path) -> None:
    class Other(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sigmoid()

    x = torch.randn(3, 4)
    programs = {"a": torch.export.export(Net().eval(), (x,)), "b": torch.export.export(Other(), (x,))}
    to_edge(programs).to_executorch().save(str(tmp_path / "m.pte"))
    loaded = Runtime.get().load_program(tmp_path / "m.pte", enable_etdump=True)
    loaded.load_method("b").execute([x])
    loaded.write_etdump_result_to_file(str(tmp_path / "m.etdp"))
    with pytest.raises(ValueError, match="does not say which method it is of: pass method= as one of 'a', 'b'"):
        write_page(tmp_path / "m.pte", tmp_path / "p.html", tmp_path / "m.etdp")
    with pytest.raises(ValueError, match="has no method 'c'; it has 'a', 'b'"):
        write_page(tmp_path / "m.pte", tmp_path / "p.html", tmp_path / "m.etdp", method="c")
    write_page(tmp_path / "m.pte", tmp_path / "p.html", tmp_path / "m.etdp", method="b")
    timed = {method["method"]: "times" in method for method in data_of(tmp_path / "p.html")["methods"]}
    assert timed == {"a": False, "b": True}


def test_the_report_of_the_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.cumsum(1).relu()\n\n"
        "def example_inputs():\n    return (torch.ones(2, 3),)\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["export", "net.py:Net", "--backend", default().name, "--output", "m.pte", "--report", "r.json"]) == 0
    assert main(["inspect", "m.pte", "--report", "r.json", "--html", "p.html"]) == 0
    text = Path("p.html").read_text()
    assert "net.py:Net" in text and "Time of the export" in text and "Difference from PyTorch" in text
    assert "aten::cumsum.out" in text and "What was not delegated" in text
    (method,) = data_of(Path("p.html"))["methods"]
    assert any(default().id in why for why in method["refusals"].values())
    Path("bad.json").write_text('{"report_format": 1}')
    with pytest.raises(ValueError, match=r"is not a report of an export: 'model'\. Pass the file of `sdk export"):
        write_page("m.pte", "p.html", report="bad.json")


def test_bad_input(net: Recording, recurrent: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error is one line that says what was expected and found; no page is written."""
    out = tmp_path / "p.html"
    cases: list[tuple[list[Any], str]] = [
        ([net["m.etdp"]], "expected a program (.pte or .bpte), found etdump"),
        ([tmp_path / "none.pte"], "there is no file"),
        ([net["m.pte"], "--etrecord", net["m.pte"]], "is not a ZIP file"),
        ([net["m.pte"], "--etdump", recurrent["m.etdp"]], "the ETDump is of another program: it has an instruction"),
        ([net["m.pte"], "--etdump", net["m.etdp"], "--etrecord", recurrent["m.etrecord"]], "of another program"),
        ([net["m.pte"], "--debug-buffer", net["m.etdp"]], "recorded values belong to an ETDump"),
        ([net["m.pte"], "--method", "none"], "has no method 'none'"),
    ]
    cut = tmp_path / "cut.pte"
    cut.write_bytes(net["m.pte"].read_bytes()[:500])
    cases.append(([cut], "cut"))
    for arguments, message in cases:
        assert main(["inspect", *map(str, arguments), "--html", str(out)]) == 2, arguments
        err = capsys.readouterr().err
        assert message in err and err.count("\n") == 1, err
        assert not out.exists()
    with pytest.raises(ValueError, match="of another program: it has an instruction"):
        write_page(net["m.pte"], out, etrecord=recurrent["m.etrecord"])
    other = record(tmp_path, Elementwise(), (torch.ones(3, 4),))
    with pytest.raises(
        ValueError, match="of another program: of 3 kernel calls of method 'forward' it has the operators of"
    ):
        write_page(other["m.pte"], out, etrecord=net["m.etrecord"])
    assert main(["inspect", "--etdump", str(net["m.etdp"]), "--html", str(out)]) == 2
    assert "pass the .pte" in capsys.readouterr().err
    assert main(["inspect", str(net["m.pte"]), "--method", "forward"]) == 2
    assert "pass --html OUT.html too" in capsys.readouterr().err


def test_without_the_layout_library(
    net: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the package was built without network, the error is one line, with what to do."""
    asset: Callable[[str], str | None] = _write._asset
    monkeypatch.setattr(_write, "_asset", lambda name: None if name == "dagre.min.js" else asset(name))
    with pytest.raises(PageError, match=r"connect to the network .* and build it again, or install a released wheel"):
        write_page(net["m.pte"], tmp_path / "p.html")
    assert main(["inspect", str(net["m.pte"]), "--html", str(tmp_path / "p.html")]) == 2
    err = capsys.readouterr().err
    assert err.startswith("sdk inspect: --html: pages need the layout library dagre") and err.count("\n") == 1
    assert not (tmp_path / "p.html").exists()


def test_texts_cannot_end_a_script() -> None:
    text = "</script><!-- & \u2028 \ud800"
    found = embedded({text: [text]})
    assert "<" not in found and "&" not in found and found.isascii()
    assert json.loads(found) == {text: [text]}


def test_the_page_is_one_file(net: Recording, tmp_path: Path) -> None:
    """The page contains no address except names of licences and formats. Its policy allows only its own scripts."""
    out = tmp_path / "p <b>&.html"
    source = tmp_path / "</title><script>1</script>.pte".replace("/", "_")
    source.write_bytes(net["m.pte"].read_bytes())
    write_page(source, out)
    text = out.read_text()
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:|//)", text)
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and "default-src &#x27;none&#x27;" in policy[1]
    assert policy[1].count("sha256-") == 2 and text.count("<script") == 3
    assert "&lt;_title&gt;&lt;script&gt;" in text
    assert "Permission is hereby granted" in text, "the licence of dagre goes with it"
