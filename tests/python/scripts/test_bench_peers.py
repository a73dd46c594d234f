# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench --peers: its table, and the cells of engines that cannot run a model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from bench import engines, environments, peer_table
from bench.comparison import Series
from bench.engines import ImpossibleError, declaration, peers, run_converter
from bench.full_size import CLIPS, FULL_SIZE_MODELS, SIDES
from bench.harness import LOWERING, Engine, EngineError
from bench.machine_share import operations
from bench.models import PEER_MODELS
from bench.native import folder_of, measurement
from bench.peer_page import cell, cliffs, page, summary
from bench.peer_picture import across, colors, picture
from bench.peer_table import PeerTable, Row
from bench.report import compiler_summary
from bench.states import functional
from bench.worker import ROOT, load_model


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PeerTable]:
    monkeypatch.setenv("PTE_SDK_PEERS", str(tmp_path))
    monkeypatch.setenv("PTE_SDK_ORACLE_PYTHON", "/no/such/python")
    environments.own_python.cache_clear()
    environments.oracle_python.cache_clear()
    yield PeerTable({"small": "zoo:linear"}, tmp_path, "demo")
    environments.own_python.cache_clear()
    environments.oracle_python.cache_clear()


def times(*values: float) -> Series:
    return Series(list(values))


def test_engines_are_the_modules_of_a_folder() -> None:
    """Each engine has a module. Engines with a separate environment pin its packages."""
    names = {path.stem for path in (ROOT / "tests/bench/engines").glob("*.py")} - {"__init__"}
    assert set(engines.known()) == names
    assert peers("vulkan") == {"IREE": "iree-vulkan", "ncnn": "ncnn-vulkan"}
    assert next(iter(peers())) == "original" and "OpenVINO" in peers() and "sdk" not in peers()
    for name in names:
        declared = declaration(name)
        if declared.environment == "own":
            lines = (ROOT / "tests/bench/engines" / f"{name}.txt").read_text().lower().splitlines()
            assert f"{declared.packages[0].lower()}==" in " ".join(lines), name


def test_precisions_are_endings_of_the_engines_names() -> None:
    """float16 is lowered with force_fp16, and its backend is the named one."""
    for ending, int8, half in (("", False, False), ("-int8", True, False), ("-half", False, True)):
        made = declaration("sdk").make(f"sdk-vulkan{ending}", 1)
        assert (made.backend, made.int8, made.half) == ("vulkan", int8, half)
        (partitioner,) = made.partitioners()
        assert partitioner.options.get("force_fp16", False) is half


def test_an_engine_without_float16_has_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its float32 program must not count as one of float16."""
    monkeypatch.setattr(PeerTable, "start", lambda *_, **__: pytest.fail("an engine was started"))
    for column, title in (("OpenVINO", "openvino"), ("original", "original")):
        table = PeerTable({"small": "bench:mlp"}, tmp_path, "demo", [column])
        assert not declaration(title).half
        table.write_programs(["float16"])
        path = table.program(f"{table.columns[column]}-half", "small")
        assert not path.exists()
        assert path.with_name(path.name + ".reason").read_text() == "this benchmark has no float16 for it"


def test_an_engine_that_is_not_there_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(ValueError, match=r"no engine 'tvm-int8'; .* litert, mnn, ncnn"):
        declaration("tvm-int8")


def test_a_column_that_is_not_there_is_an_error_that_lists_the_others(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no column onnx; there are sdk, original, .*onnxruntime"):
        PeerTable({}, tmp_path, "demo", ["sdk", "onnx"])


def test_a_backend_without_a_measurement_is_an_error() -> None:
    with pytest.raises(ValueError, match="for 'nothing'"):
        folder_of("nothing")
    with pytest.raises(ValueError, match=r"bench/nothing.py is not there"):
        measurement(next(ROOT.glob("backends/*/backend.json")).parent.name, "nothing")


def test_the_page_compares_with_the_fastest_peer(table: PeerTable) -> None:
    samples = {"sdk": times(2, 2, 2), "original": times(3, 3, 3), "onnxruntime": times(2.5, 2.5, 2.5)}
    rest = [column for column in table.columns if column not in samples]
    table.rows = [Row("small", "float32", 1, samples, dict.fromkeys(rest, "no | such\noperator"))]
    table.versions = {"MNN": {"MNN": "1.2"}}
    lines = page(table).splitlines()
    assert lines[0] == "Engines: MNN (MNN 1.2)."
    assert "| small | 2 (2) ±0% | 3 (3) ±0% |" in lines[6] and lines[6].endswith("| **1.25** ahead (onnxruntime) |")
    assert "- MNN, float32, small: no / such operator" in lines
    assert summary(table.rows) == ""  # two peers are too few


def test_models_that_take_too_long_beside_two_peers_are_named() -> None:
    """scripts/bench --zoo: 1.2 times the time of the fastest peer is the most."""
    rows = [
        Row(name, "float32", 1, {"sdk": times(ours), "onnxruntime": times(3), "OpenVINO": times(2)}, least_peers=2)
        for name, ours in (("slow", 2.6), ("level", 2.4), ("quick", 1.0))
    ]
    rows.append(Row("unknown", "float32", 1, {"sdk": times(9)}, {"OpenVINO": "no"}, least_peers=2))
    assert cliffs(rows).splitlines()[-1] == "- float32, 1 thread: slow 1.30, of 3"
    assert "over the models that at least 2 peers run" in summary(rows)
    assert summary(rows).endswith("**1.09** over 3 models (1 ahead, 0 level, 2 behind)")
    assert cliffs(rows[1:]).endswith("- float32, 1 thread: none, of 2")


def test_models_of_libraries_have_a_name_each() -> None:
    assert len(FULL_SIZE_MODELS) >= 40 and set(SIDES) | set(CLIPS) <= set(FULL_SIZE_MODELS)
    assert not set(FULL_SIZE_MODELS) & set(PEER_MODELS)


def test_a_cell_has_the_quartile_the_median_and_the_signal() -> None:
    """A cell has the lower quartile (3 for samples 1 to 9) and the median (5). It is in italics if the result is
    inaccurate."""
    row = Row("m", "int8", 1, {"sdk": times(*range(1, 10)), "MNN": times(4)}, {}, {"sdk": 31.4, "MNN": 12.0})
    assert cell(row, "sdk") == "3 (5) ±40%, 31 dB"
    assert cell(row, "MNN") == "*4 (4) ±0%, 12 dB*"
    assert cell(row, "ncnn") == "–"
    float_row = Row("m", "float32", 1, {"sdk": times(4)}, {}, {"sdk": 140.0})
    assert cell(float_row, "sdk") == "4 (4) ±0%"


def test_the_summary_counts_what_is_ahead_level_and_behind() -> None:
    """Ratios of 2, 0.5 and 1: a mean of 1."""
    rows = []
    for model, ours in (("a", times(1)), ("b", times(4)), ("c", times(2))):
        others = dict.fromkeys(("MNN", "ncnn", "LiteRT"), times(2))
        rows.append(Row(model, "float32", 2, {"sdk": ours, **others}))
    assert "- float32, 2 threads: **1.00** over 3 models (1 ahead, 1 level, 1 behind)" in summary(rows)


def test_the_picture_has_a_dot_for_each_engine_whose_result_counts() -> None:
    assert list(colors()) == ["sdk", *peers()] and len(set(colors().values())) == len(colors())
    rows = [
        Row("a & b", "float32", 1, {"sdk": times(2), "MNN": times(8), "ncnn": times(1e3)}),
        Row("a & b", "int8", 1, {"sdk": times(1), "MNN": times(1)}, {"ncnn": "no"}, {"sdk": 30.0, "MNN": 3.0}),
        Row("a & b", "float32", 2, {"sdk": times(1)}),
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
    # Each factor of two has the same length on the axis.
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


def test_engines_have_their_own_python_but_for_what_writes_programs(table: PeerTable, tmp_path: Path) -> None:
    """ncnn's environment has no torch; LiteRT's has. The folder of the environments can be given."""
    assert environments.python_of("ncnn") == str(tmp_path / "ncnn" / "bin" / "python")
    assert environments.python_of("ncnn-int8", writes=True) == "/no/such/python"
    assert environments.python_of("litert-int8", writes=True) == str(tmp_path / "litert" / "bin" / "python")
    assert environments.python_of("sdk-demo") == environments.python_of("sdk", writes=True) == sys.executable
    assert environments.python_of("onnxruntime") == "/no/such/python"


def test_a_models_state_becomes_inputs_and_outputs() -> None:
    """The state of the decoder is the caches of keys and values of six layers. A token at position 1 attends to the
    token at position 0 only through this state."""
    made = functional(PEER_MODELS["decoder, one token"])
    assert len(made.states) == 12 and made.states[0].shape == (1, 6, 256, 48)
    assert made.input_names()[:3] == ["input_0", "input_1", "state_0"]
    assert made.output_names(13)[:2] == ["output_0", "new_state_0"]
    module, _ = load_model(PEER_MODELS["decoder, one token"])
    with torch.no_grad():
        states = made.states
        for position, token in enumerate((3, 5)):
            inputs = (torch.tensor([[token]]), torch.tensor([position]))
            found, *states = made.module(*inputs, *states)
            torch.testing.assert_close(found, module(*inputs))
        assert not any(state.any() for state in made.states)  # the caller's tensors do not change
        forgetful = made.module(torch.tensor([[5]]), torch.tensor([1]), *made.states)[0]
    assert not torch.allclose(forgetful, found)


def test_a_model_without_state_stays_as_it_is() -> None:
    made = functional(PEER_MODELS["MLP, batch of 32"])
    assert made.states == () and made.arguments == made.inputs


def test_what_a_converter_said_last_is_the_reason() -> None:
    run_converter(sys.executable, "-c", "pass")
    with pytest.raises(ImpossibleError, match="its converter ended with 3: no such layer"):
        run_converter(sys.executable, "-c", "import sys; print('no such layer', file=sys.stderr); sys.exit(3)")


@pytest.mark.parametrize("model", ["ResNet50", "decoder, prefill 64", "speech detector"])
def test_the_models_have_the_sizes_that_are_written_about(model: str) -> None:
    """The figures are millions of parameters. He et al., table 1, have 25.6 for ResNet50."""
    module, inputs = load_model(PEER_MODELS[model])
    millions = sum(parameter.numel() for parameter in module.parameters()) / 1e6
    expected = {"ResNet50": 25.557, "decoder, prefill 64": 13.450, "speech detector": 0.2436}[model]
    assert millions == pytest.approx(expected, rel=1e-3)
    if model == "speech detector":
        probability, state = module(*inputs)
        assert probability.shape == (1, 1) and state.shape == (2, 1, 128) and 0 < probability.item() < 1


def test_an_engine_answers_from_a_process() -> None:
    engine = Engine("sdk", sys.executable, 1)
    try:
        assert engine.ask("versions", packages=["pytest", "no-such-package"]) == {"pytest": pytest.__version__}
        with pytest.raises(EngineError, match=r"sdk could not load: FileNotFoundError: .*none\.npz") as failed:
            engine.ask("load", path="none.pte", inputs="none.npz")
        assert failed.value.reason.startswith("FileNotFoundError: ")
    finally:
        engine.close()


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
    original = declaration("original").peer
    table.columns = {"original": original}
    table.write_programs(["int8"])
    path = table.program(f"{original}-int8", "small")
    assert path.with_name(path.name + ".reason").read_text() == "no program after 0.5 s"


def test_operations_are_two_for_each_product() -> None:
    """32 rows through 784 to 512, 512 and 10."""
    assert operations(PEER_MODELS["MLP, batch of 32"]) == 2 * 32 * (784 * 512 + 512 * 512 + 512 * 10)


@pytest.mark.parametrize("backend", ["", "-demo"])
def test_lowering_is_compared_with_the_same_backend(backend: str) -> None:
    """The ratio of all models is 3 s to the original's 10 s. The largest ratio of one model is 0.4."""
    figures = {
        "first": {LOWERING: {f"sdk{backend}": Series([1.0]), f"original{backend}": Series([5.0])}},
        "second": {LOWERING: {f"sdk{backend}": Series([2.0]), f"original{backend}": Series([5.0])}},
    }
    assert "a ratio of 0.300 (at most 0.5), and at most 0.400 on a model (0.8)" in compiler_summary(figures)
    del figures["first"][LOWERING][f"original{backend}"]
    assert compiler_summary(figures) == ""
