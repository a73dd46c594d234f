# SPDX-License-Identifier: BSD-3-Clause
"""`sdk.devtools.visualization` with Model Explorer itself."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.devtools import visualization
from sdk.devtools.visualization import visualization_utils
from sdk.exir import to_edge

SERVE = """
import sys, torch
from sdk.devtools.visualization import visualize
program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
visualize(program, reuse_server=False, no_open_in_browser=True, port=int(sys.argv[1]))
"""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.rest = torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rest(self.first(x))


@pytest.fixture(scope="module")
def program() -> ExportedProgram:
    return to_edge(torch.export.export(Net(), (torch.ones(1, 4),))).exported_program()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Records the graphs that would be shown, instead of starting a server that blocks."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(visualization_utils, "visualize_model_explorer", lambda **named: calls.append(named))
    return calls


def test_groups_are_the_modules(program: ExportedProgram, shown: list[dict[str, Any]]) -> None:
    """VIS-03"""
    visualization.visualize(program, reuse_server=False, no_open_in_browser=True, port=8090)
    (call,) = shown
    assert call["port"] == 8090 and call["no_open_in_browser"] is True
    nodes = {node.id: node.namespace for node in call["config"].graphs_list[0]["graphs"][0].nodes}
    assert nodes["aten_relu_default"].count("/") == 2 and "Sequential_rest" in nodes["aten_relu_default"]


def test_a_graph_of_a_pass_is_shown(program: ExportedProgram, shown: list[dict[str, Any]]) -> None:
    visualization.visualize_graph(program.graph_module, program, reuse_server=False)
    names = [node.id for node in shown[0]["config"].graphs_list[0]["graphs"][0].nodes]
    assert names == [node.name for node in program.graph.nodes]


def test_partitions_and_clusters_are_saved(program: ExportedProgram, tmp_path: Path) -> None:
    """VIS-05, VIS-07: names with `/` stay one group; a file is written and no server starts."""

    def partition(node: Node) -> str | None:
        return {"aten_addmm_default": "a/b", "aten_addmm_default_1": "c"}.get(node.name)

    def cluster(node: Node) -> str | None:
        return "q" if node.name in ("aten_addmm_default_1", "aten_relu_default") else None

    file = tmp_path / "my_model.json"
    visualization.visualize_with_clusters(
        program, str(file), get_node_partition_name=partition, get_node_qdq_cluster_name=cluster
    )
    saved = json.loads(file.read_text())
    assert saved["label"] == "Executorch" and saved["graphsWithLevel"][0]["graph"] == saved["graphs"][0]
    groups = {node["id"]: node["namespace"] for node in saved["graphs"][0]["nodes"]}
    assert groups["aten_addmm_default"] == "partition 0 (a:b)"
    assert groups["aten_addmm_default_1"] == "partition 1 (c)/cluster (q)"
    assert groups["aten_relu_default"] == "cluster (q)" and groups["x"] == ""


def test_the_style_colours_partitions_and_clusters() -> None:
    """VIS-08"""
    style = resources.files("sdk.devtools.visualization") / "model_explorer_styles" / "cluster_highlight_style.json"
    rules = json.loads(style.read_text())
    patterns = [rule["queries"][1]["queryRegex"] for rule in rules]
    for label in ("partition 0 (a)", "partition 13 (b)", "cluster (q)"):
        assert sum(re.search(pattern, label) is not None for pattern in patterns) == 1


def test_installing_the_extra_brings_the_command() -> None:
    """VIS-01: `pip install 'pte-sdk[visualization]'` replaces the original's script that installs Model Explorer."""
    required = [line.partition(";") for line in metadata.requires("pte-sdk") or []]
    (name,) = [name for name, _, marker in required if "visualization" in marker]
    distribution = metadata.distribution(re.split("[<>=~! ]", name)[0])
    assert "model-explorer" in distribution.entry_points.select(group="console_scripts").names


def test_without_model_explorer(program: ExportedProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "model_explorer", None)
    with pytest.raises(ImportError, match=r"pip install 'pte-sdk\[visualization\]'"):
        visualization.visualize(program)
    with pytest.raises(RuntimeError, match=r"expected an ExportedProgram, .* found a Net"):
        monkeypatch.undo()
        visualization.visualize(Net())  # type: ignore[arg-type]


def test_a_server_answers_and_is_used_again(program: ExportedProgram) -> None:
    """VIS-02, VIS-04, DT-08: a second call with `reuse_server` returns at once and leaves one server."""
    port = next(port for port in range(8081, 8100) if _is_free(port))
    server = subprocess.Popen([sys.executable, "-c", SERVE, str(port)], stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while _is_free(port):
            assert server.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        with urllib.request.urlopen(f"http://localhost:{port}/", timeout=30) as answer:
            assert b"Model Explorer" in answer.read()
        visualization.visualize_with_clusters(program, reuse_server=True, no_open_in_browser=True)
        assert server.poll() is None
    finally:
        server.terminate()
        server.wait(20)


def test_servers_for_a_block(program: ExportedProgram, tmp_path: Path) -> None:
    """VIS-06: the command `model-explorer` serves its home page, and a saved file; nested blocks share a server."""
    port = next(port for port in range(8081, 8100) if _is_free(port))
    one = visualization.SingletonModelExplorerServer
    with one(open_in_browser=False, port=port):
        first = one.server
        with one(open_in_browser=False, port=port):
            assert one.server is first
        with urllib.request.urlopen(f"http://localhost:{port}/", timeout=30) as answer:
            assert b"Model Explorer" in answer.read()
        with pytest.raises(RuntimeError, match=f"port {port} is in use"):
            visualization.ModelExplorerServer(open_in_browser=False, port=port)
    assert one.server is None and first is not None and first.poll() is not None
    visualization.visualize_with_clusters(program, str(tmp_path / "m.json"))
    command = [str(Path(sys.executable).with_name("model-explorer")), str(tmp_path / "m.json")]
    server = subprocess.Popen([*command, "--no_open_in_browser", "--port", str(port)], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        said = next(line for line in iter(server.stdout.readline, b"") if b"http://" in line).decode()
        assert "m.json" in said and str(port) in said
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.parametrize("one", [visualization.ModelExplorerServer, visualization.SingletonModelExplorerServer])
def test_the_default_port_may_be_in_use(one: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """VIS-06: a server without a port takes the first one that is free, and the block begins when it listens there."""
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        taken = other.getsockname()[1]
        free = next(port for port in range(8081, 8100) if _is_free(port))
        monkeypatch.setattr(visualization_utils, "_DEFAULT_PORTS", [taken, free])
        with one(open_in_browser=False) as running:
            assert running._port == free
            with urllib.request.urlopen(f"http://localhost:{free}/", timeout=30) as answer:
                assert b"Model Explorer" in answer.read()
        monkeypatch.setattr(visualization_utils, "_DEFAULT_PORTS", [taken])
        with pytest.raises(RuntimeError, match="are all in use"):
            one(open_in_browser=False)


def test_a_port_in_use_does_not_end_the_process(program: ExportedProgram) -> None:
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(RuntimeError, match=f"port {port} is in use: pass another one"):
            visualization.visualize(program, reuse_server=False, no_open_in_browser=True, port=port)


def _is_free(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("localhost", port)) != 0
