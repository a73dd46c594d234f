# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench --peers: its table, and what stands in it where an engine cannot run a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import peer_table
from bench.harness import LOWERING, Engine, Series
from bench.machine_share import operations
from bench.models import PEER_MODELS
from bench.peer_picture import COLORS, across, picture
from bench.peer_table import COLUMNS, PeerTable, Row
from bench.peers import ImpossibleError, converts_itself, peer_of, python_of_peer, run_converter
from bench.report import compiler_summary
from bench.start import HEAD, Starts, one_start
from bench.worker import ROOT, load_model


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PeerTable:
    monkeypatch.setenv("PTE_SDK_PEERS", str(tmp_path))
    return PeerTable({"small": "zoo:linear"}, tmp_path, sys.executable, "/no/such/python")


def test_the_table_compares_with_the_fastest_peer(table: PeerTable) -> None:
    samples = {"sdk": Series([2.0, 2.0, 2.0]), "original": Series([3.0, 3.0, 3.0]), "onnxruntime": Series([2.5] * 3)}
    reasons = dict.fromkeys(("LiteRT", "ncnn", "MNN"), "no | such\noperator")
    table.rows = [Row("small", "float32", 1, samples, reasons), Row("other", "float32", 1, {"sdk": Series([1.0])}, {})]
    table.rows[1].reasons = dict.fromkeys(COLUMNS, "nothing")
    lines = table.markdown().splitlines()
    assert lines[2].endswith("| 2 | 3 | 2.5 | " + "cannot: no / such operator | " * 3 + "**1.25** (onnxruntime) |")
    assert "cannot: nothing" in lines[3] and lines[3].endswith("| – |")
    assert "float32, 1 thread: 1.25 times as fast as the fastest peer of each of 1 models," in table.summary()


def test_means_over_models_are_geometric(table: PeerTable) -> None:
    """Twice and half as fast is as fast."""
    for ours in (1.0, 4.0):
        table.rows.append(Row(f"model {ours}", "int8", 2, {"sdk": Series([ours]), "MNN": Series([2.0])}))
    assert "int8, 2 threads: 1.00 times as fast as the fastest peer of each of 2 models," in table.summary()
    assert "1 of them at least as fast" in table.summary()


def test_the_picture_has_a_dot_for_each_engine_that_ran() -> None:
    assert COLORS.keys() == COLUMNS.keys()
    rows = [
        Row("a & b", "float32", 1, {"sdk": Series([2.0]), "MNN": Series([8.0]), "ncnn": Series([1e3])}),
        Row("a & b", "int8", 1, {"sdk": Series([1.0])}, {"ncnn": "nothing"}),
        Row("a & b", "float32", 2, {"sdk": Series([1.0])}),
    ]
    svg = "{http://www.w3.org/2000/svg}"
    root = ElementTree.fromstring(picture(rows, 1))
    dots = {dot.findtext(svg + "title"): float(dot.get("cx", "")) for dot in root.iter(svg + "circle")}
    del dots[None]  # of the legend
    assert dots == {
        "a & b, float32, sdk: 2 ms": pytest.approx(across(1, 0), abs=0.1),
        "a & b, float32, MNN: 8 ms": pytest.approx(across(4, 0), abs=0.1),
        "a & b, float32, ncnn: 1e+03 ms": pytest.approx(across(32, 0), abs=0.1),  # beyond the axis
        "a & b, int8, sdk: 1 ms": pytest.approx(across(1, 1), abs=0.1),
    }
    # Each factor of two is as long.
    assert across(4, 0) - across(2, 0) == pytest.approx(across(1, 0) - across(0.5, 0))


def test_a_program_that_could_not_be_written_is_a_reason_in_the_table(table: PeerTable, tmp_path: Path) -> None:
    table.columns = {"ncnn": "ncnn"}
    for engine in ("ncnn", "ncnn-int8"):
        path = table.program(engine, "small")
        path.with_name(path.name + ".reason").write_text("it has no pnnx.Expression")
    table.write_programs()  # what failed once is not tried again
    row = Row("small", "float32", 1)
    table._measure_row(row, tmp_path / "inputs", tmp_path / "expected", 1, 0.01)
    assert row.reasons == {"ncnn": "it has no pnnx.Expression"} and not row.samples


def test_engines_have_their_own_python_but_for_what_writes_programs() -> None:
    assert peer_of("litert-int8") == "litert" and peer_of("onnxruntime") is None and peer_of("sdk-xnnpack") is None
    assert converts_itself("litert") and not converts_itself("mnn-int8")
    for peer in ("litert", "ncnn", "mnn"):
        assert (ROOT / "tests/bench/environments" / f"{peer}.txt").is_file()


def test_a_folder_of_environments_can_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTE_SDK_PEERS", str(tmp_path))
    assert python_of_peer(ROOT, "ncnn") == str(tmp_path / "ncnn" / "bin" / "python")


def test_what_a_converter_said_last_is_the_reason() -> None:
    run_converter(sys.executable, "-c", "pass")
    with pytest.raises(ImpossibleError, match="its converter ended with 3: no such layer"):
        run_converter(sys.executable, "-c", "import sys; print('no such layer', file=sys.stderr); sys.exit(3)")


@pytest.mark.parametrize("model", ["ResNet50", "decoder, prefill 64", "speech detector"])
def test_the_models_have_the_sizes_that_are_written_about(model: str) -> None:
    """He et al., table 1: 25.6 million; the decoder's cache holds what is computed of it; the detector's is 0.24."""
    module, inputs = load_model(PEER_MODELS[model])
    millions = sum(parameter.numel() for parameter in module.parameters()) / 1e6
    expected = {"ResNet50": 25.557, "decoder, prefill 64": 13.450, "speech detector": 0.2436}[model]
    assert millions == pytest.approx(expected, rel=1e-3)
    if model == "speech detector":
        probability, state = module(*inputs)
        assert probability.shape == (1, 1) and state.shape == (2, 1, 128) and 0 < probability.item() < 1


def test_an_export_that_does_not_end_is_given_up(
    table: PeerTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waiting(Engine):
        def __init__(self) -> None:
            self.name = "waiting"
            command = [sys.executable, "-c", "import time; time.sleep(60)"]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(peer_table, "LONGEST_EXPORT", 0.5)
    monkeypatch.setattr(table, "start", lambda *_, **__: Waiting())
    table.columns = {"original": "original-xnnpack"}
    table.write_programs(["int8"])
    path = table.program("original-xnnpack-int8", "small")
    assert path.with_name(path.name + ".reason").read_text() == "no program after 0.5 s"


def test_engines_are_compared_by_what_was_not_disturbed() -> None:
    """The second of five samples: two of ours waited for others on the machine, all of the peer's did a little."""
    row = Row(
        "small", "float32", 2, {"sdk": Series([1.0, 9.0, 1.0, 8.0, 7.0]), "MNN": Series([2.0, 2.1, 2.2, 2.3, 2.4])}
    )
    assert row.fastest_peer() == ("MNN", 2.1)
    assert row.advantage() == 2.1


def test_operations_are_two_for_each_product() -> None:
    """32 rows through 784 to 512, 512 and 10."""
    assert operations(PEER_MODELS["MLP, batch of 32"]) == 2 * 32 * (784 * 512 + 512 * 512 + 512 * 10)


def test_starts_are_compared_with_the_original() -> None:
    """In milliseconds and in millions of bytes."""
    figures = one_start([sys.executable, "-c", "print('0.0003 0.010 0.5 30000000 20000000 600000 5200000')"])
    assert figures.pop("first use") == 0.0003
    assert figures == {"load": 0.010, "first": 0.5, "peak": 3e7, "own": 2e7, "planned": 6e5, "added": 5.2e6}
    starts = Starts("small", "int8")
    starts.add("without a file", figures)
    starts.add("with the file", {**figures, "load": 0.002, "own": 1e7})
    # 30 MB at the most, of 14.2 + 0.6 + 5.2.
    expected = "| small | int8 | 10 | 2 | – | – | 14.2 | 0.6 | 5.2 | 20.0 | 30.0 | 10.0 | 30.0 | – | 1.50 |"
    assert starts.row(14_200_000) == expected
    starts.add("original", {"load": 0.008, "peak": 2.5e7})
    assert starts.row(14_200_000).split(" | ")[4:6] == ["8", "**0.25**"]
    assert HEAD.splitlines()[0].count("|") == starts.row(1).count("|") == HEAD.splitlines()[1].count("|")


@pytest.mark.parametrize("backend", ["", "-xnnpack"])
def test_lowering_is_compared_with_the_same_backend(backend: str) -> None:
    """3 s and 10 s in all, and at most 0.4 of the original on one model."""
    figures = {
        "first": {LOWERING: {f"sdk{backend}": Series([1.0]), f"original{backend}": Series([5.0])}},
        "second": {LOWERING: {f"sdk{backend}": Series([2.0]), f"original{backend}": Series([5.0])}},
    }
    assert "a ratio of 0.300 (at most 0.5), and at most 0.400 on a model (0.8)" in compiler_summary(figures)
    del figures["first"][LOWERING][f"original{backend}"]
    assert compiler_summary(figures) == ""
