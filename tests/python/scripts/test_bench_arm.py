# SPDX-License-Identifier: BSD-3-Clause
"""`scripts/bench --arm`: counts of a program whose instructions are known, and cycles of blocks whose throughput Arm's
optimization guides give."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from bench import llm_files  # noqa: E402
from bench.arm import counting, cycles  # noqa: E402
from bench.arm.counting import PLACE, Block, Command, Counts, count, difference  # noqa: E402
from bench.arm.language import ArmLanguageModels, Call, Inputs  # noqa: E402
from bench.arm.measure import Figures, Row, until_stopped  # noqa: E402
from bench.arm.page import missing, page  # noqa: E402
from bench.arm.processors import PROCESSORS, chosen  # noqa: E402
from bench.arm.results import Figure, Results  # noqa: E402
from bench.engines import ImpossibleError  # noqa: E402

COMPILER = "aarch64-linux-gnu-gcc"
emulated = pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None or shutil.which(COMPILER) is None,
    reason="qemu-user or gcc-aarch64-linux-gnu is missing",
)
modelled = pytest.mark.skipif(
    shutil.which("llvm-mca-19") is None or shutil.which("llvm-mc-19") is None, reason="llvm-19 is missing"
)

LOOPS = 1000
PROGRAM = f"""
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** arguments) {{
  for (int call = atoi(arguments[1]); call > 0; --call) {{
    long left = {LOOPS};
    __asm__ volatile("0: add x9, x9, #1\\n eor x10, x9, x10\\n subs %0, %0, #1\\n b.ne 0b"
                     : "+r"(left) : : "x9", "x10", "cc");
  }}
  char line[200];
  FILE* file = fopen("/proc/cpuinfo", "r");
  while (fgets(line, sizeof line, file)) fputs(line, stdout);
  return count > 2;
}}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(counting, "CACHE", tmp_path / "cache")
    source, binary = tmp_path / "loop.c", tmp_path / "loop"
    source.write_text(PROGRAM)
    subprocess.run([COMPILER, "-O1", "-static", "-o", str(binary), str(source)], check=True)
    (tmp_path / "proc").mkdir()
    return binary


@emulated
def test_counts_are_those_of_one_call(program: Path, tmp_path: Path) -> None:
    checks: list[float] = []

    def check() -> float:
        checks.append(60.0)
        return checks[-1]

    command = Command([str(program), PLACE], [program.read_bytes()])
    for _ in range(2):  # the second is read from the cache
        found = count(command, PROCESSORS["a55"], tmp_path, check)
        loop = found.blocks[0]
        # The first iteration begins in the block before the loop's, which ends with the same branch.
        assert (loop.size, loop.count, loop.symbol) == (4, LOOPS - 1, "main")
        assert 4 * LOOPS < found.instructions < 4 * LOOPS + 100
        assert found.decibels == 60.0
    assert checks == [60.0]


@emulated
def test_a_program_that_fails_is_not_counted(program: Path, tmp_path: Path) -> None:
    command = Command([str(program), PLACE, "more"], [program.read_bytes()])
    with pytest.raises(ImpossibleError, match="ends with 1 in the emulator"):
        count(command, PROCESSORS["a76"], tmp_path, lambda: 60.0)


@emulated
def test_a_program_that_does_not_end_is_not_counted(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop.c").write_text('int main(void) { for (;;) __asm__ volatile(""); }')
    subprocess.run([COMPILER, "-O1", "-static", "-o", str(program), str(tmp_path / "loop.c")], check=True)
    monkeypatch.setattr(counting, "LONGEST_SECONDS", 1)
    with pytest.raises(ImpossibleError, match="it does not end in 1 s in the emulator"):
        count(Command([str(program), PLACE], []), PROCESSORS["a76"], tmp_path, lambda: 60.0)


@emulated
def test_marked_calls_need_one_process(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = PROGRAM.replace("for (int call", "int first = 1; for (int call").replace(
        "    long left", "    if (!first && call == 2) lseek(-1, 0x6D61726B, 0);\n    first = 0;\n    long left"
    )
    source = source.replace("  char line", "  lseek(-1, 0x6D61726B, 0);\n  char line").replace(
        "#include <stdlib.h>", "#include <stdlib.h>\n#include <unistd.h>"
    )
    (tmp_path / "loop.c").write_text(source)
    subprocess.run([COMPILER, "-O1", "-static", "-o", str(program), str(tmp_path / "loop.c")], check=True)
    ran: list[int] = []
    run = counting.run
    monkeypatch.setattr(counting, "run", lambda *a: (ran.append(a[1]), run(*a)))
    command = Command([str(program), PLACE], [program.read_bytes()], marks=True)
    found = count(command, PROCESSORS["a55"], tmp_path, lambda: 60.0)
    assert ran == [3]
    assert (found.blocks[0].size, found.blocks[0].count) == (4, LOOPS - 1)
    assert 4 * LOOPS < found.instructions < 4 * LOOPS + 300  # the C library's lseek is counted, too


class Emulated:
    """Replaces `count`: remembers the commands, and has the counts of three of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, results: Results) -> None:
        self.commands: list[str] = []
        self.results = results
        monkeypatch.setattr("bench.arm.measure.count", self.count)
        monkeypatch.setattr("bench.arm.measure.system_of", lambda processor: Path())
        monkeypatch.setattr("bench.arm.measure.cycles", lambda counts, model: counts.instructions / 2)

    def count(self, command: Command, *_: object) -> Counts:
        self.commands.append(command.arguments[0])
        if command.arguments == ["bad"]:
            raise ImpossibleError("it ends with 1 in the emulator: no operator")
        return Counts((Block("aa", 4e6, "-"),), 60.0)

    def row(self, name: str, depends: str, **options: bool) -> Row:
        """Counts a command, as a run of the script does."""
        row = Row("A", "int8", PROCESSORS["a76"])
        figures = Figures(results=Results(self.results.path), **options)
        if figures.wants(row, name):
            figures.add(row, name, Command([name], [depends.encode()]), lambda: 60.0)
        return row


def test_a_cell_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs share the file of results; a cell is counted again when what it depends on has changed."""
    emulated = Emulated(monkeypatch, Results(tmp_path / "results.json"))
    assert emulated.row("good", "1", kept_only=True).reasons == {"good": "not emulated yet"}
    expected = {"good": Figure(4e6, 2e6, 60.0)}
    assert emulated.row("good", "1").figures == expected
    assert emulated.row("good", "1").figures == expected
    assert emulated.row("good", "2", missing_only=True).figures == expected
    assert emulated.row("good", "2", kept_only=True).figures == expected
    assert emulated.commands == ["good"]
    assert emulated.row("good", "2").figures == expected
    assert emulated.commands == ["good", "good"]


def test_the_reason_of_a_failure_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emulated = Emulated(monkeypatch, Results(tmp_path / "results.json"))
    for options in ({}, {}, {"missing_only": True}, {"kept_only": True}):
        row = emulated.row("bad", "1", **options)
        assert (row.figures, row.reasons) == ({}, {"bad": "it ends with 1 in the emulator: no operator"})
    assert emulated.commands == ["bad"]


def test_runs_at_the_same_time_keep_each_others_cells(tmp_path: Path) -> None:
    runs = [Results(tmp_path / "results.json") for _ in range(2)]
    for index, name in enumerate("abc"):
        runs[index % 2].put(name, "key", Figure(1.0, 2.0, 3.0))
    assert set(Results(runs[0].path).cells) == {"a", "b", "c"}


def test_results_that_are_expected_ones_are_kept(tmp_path: Path) -> None:
    """llama.cpp's results, with which others are compared, have no noise; JSON has no infinity."""
    results = Results(tmp_path / "results.json")
    exact = Figure(4e6, 2e6, math.inf)
    results.put("a", "key", exact)
    assert "Infinity" not in results.path.read_text()
    assert Results(results.path).figure("a") == exact


def test_an_interrupted_write_leaves_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emulated = Emulated(monkeypatch, Results(tmp_path / "results.json"))
    emulated.row("good", "1")
    before = emulated.results.path.read_text()
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        emulated.row("other", "1")
    assert emulated.results.path.read_text() == before


def test_an_interrupted_run_has_what_was_counted() -> None:
    figures = Figures()
    calls: list[bool] = []

    def measure() -> None:
        calls.append(figures.kept_only)
        if not figures.kept_only:
            raise KeyboardInterrupt

    until_stopped(figures, measure)
    assert calls == [False, True]


@emulated
@pytest.mark.parametrize("name", list(PROCESSORS))
def test_a_program_sees_the_processor(name: str, program: Path, tmp_path: Path) -> None:
    processor = PROCESSORS[name]
    (tmp_path / "proc/cpuinfo").write_text(processor.cpuinfo)
    command = ["qemu-aarch64", "-cpu", processor.qemu, "-L", str(tmp_path), str(program), "1"]
    seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"CPU part\t: 0x{processor.part:03x}\n" in seen


def test_blocks_that_the_emulator_divides_are_one(tmp_path: Path) -> None:
    """A loop of three parts; the last one ends with a jump. A part that is entered from elsewhere, too, stays one."""
    add, jump, other = "91000400", "54ffff81", "d65f03c0"
    lines = [
        f"1000 7 loop {add} {add}",
        f"1008 7 - {add}",
        f"100c 7 - {add} {jump}",
        f"1014 7 after {add} {other}",
        f"2000 5 f {add}",
        f"2004 6 - {add} {other}",
    ]
    (tmp_path / "counts").write_text("\n".join(lines) + "\n")
    assert counting.read(tmp_path / "counts") == {
        f"{add} {add} {add} {add} {jump}": (7, "loop"),
        f"{add} {other}": (7 + 6, "-"),  # a copy at another address
        add: (5, "f"),
    }


def test_difference_joins_copies_of_a_block() -> None:
    one = {"aa bb": (10, "f"), "cc": (7, "-")}
    three = {"aa bb": (30, "f"), "cc": (7, "-"), "dd": (2, "-")}
    assert difference(one, three) == (Block("aa bb", 10.0, "f"), Block("dd", 1.0, "-"))


def test_the_most_executed_blocks_are_chosen() -> None:
    counts = Counts((Block("aa", 90.0, "-"), Block("bb", 6.0, "-"), Block("cc", 4.0, "-")), 0.0)
    assert [block.code for block in counts.most(0.95)] == ["aa", "bb"]


# fmla v0.4s, v16.4s, v24.4s to fmla v7.4s, v16.4s, v24.4s
PRODUCTS = " ".join(f"{0x4E38CE00 | register:08x}" for register in range(8))


@modelled
def test_code_is_disassembled() -> None:
    texts = cycles.disassemble(["4e38ce00", "ffffffff", "d65f03c0"])
    assert texts == {"4e38ce00": "fmla v0.4s, v16.4s, v24.4s", "d65f03c0": "ret"}


@modelled
@pytest.mark.parametrize(("model", "expected"), [("cortex-a55", 8.0), ("neoverse-n1", 4.0), ("neoverse-v1", 4.0)])
def test_products_take_the_cycles_of_the_optimization_guides(
    model: str, expected: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FMLA of four floats: one per cycle on the A55; two on the N1; four on the V1, where each sum waits
    four cycles for the one before."""
    monkeypatch.setattr(cycles, "CACHE", tmp_path)
    (found,) = cycles.of_blocks([PRODUCTS], model).values()
    assert found == pytest.approx(expected, rel=0.05)
    kept = list((tmp_path / "cycles").iterdir())
    assert [path.name.startswith(model) for path in kept] == [True]


@modelled
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("fc408463 fc408464", 2.0),  # ldr d3, [x3], #8; ldr d4, [x3], #8
        ("fc410c63", 1.0),  # ldr d3, [x3, #16]!
        ("0cdf7a60", 1.0),  # ld1 {v0.2s}, [x19], #8
    ],
)
def test_a_load_of_the_a55_does_not_delay_its_address(
    code: str, expected: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One load per cycle, according to Arm's optimization guide."""
    monkeypatch.setattr(cycles, "CACHE", tmp_path)
    (found,) = cycles.of_blocks([code], "cortex-a55").values()
    assert found == pytest.approx(expected, rel=0.05)


@modelled
def test_blocks_that_are_not_modelled_cost_as_much_as_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "CACHE", tmp_path)
    counts = Counts((Block(PRODUCTS, 120.0, "-"), Block("d65f03c0", 40.0, "-")), 0.0)  # 960 and 40 instructions
    assert cycles.cycles(counts, "cortex-a55") == pytest.approx(120 * 8 * 1000 / 960, rel=0.05)


def test_unknown_names_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no processor 'm4'; expected some of a55, a76"):
        chosen(["a76", "m4"])
    with pytest.raises(ValueError, match="no model 'GPT'; expected some of SmolLM2 Q4_1"):
        ArmLanguageModels(tmp_path, ["GPT"], chosen(["a76"]), Figures())


def test_logits_must_be_those_of_llama_cpp(tmp_path: Path) -> None:
    inputs = Inputs(tmp_path, Call("two tokens", 2), tmp_path / "model.pte")
    with pytest.raises(ImpossibleError, match=r"no result of llama\.cpp"):
        inputs.check_of("sdk")()
    logits = np.linspace(-1, 1, 100, dtype=np.float32)
    logits.tofile(tmp_path / "model-2.llama")
    (logits + np.float32(0.01)).tofile(tmp_path / "model-2-0.bin")
    assert inputs.check_of("sdk")() == pytest.approx(10 * math.log10(np.square(logits).mean() / 1e-4), abs=0.1)
    (-logits).tofile(tmp_path / "model-2-0.bin")
    with pytest.raises(ImpossibleError, match="its result is -6 dB over"):
        inputs.check_of("sdk")()


def test_the_page_has_ratios_and_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.arm.page.versions", lambda columns: "Versions.")
    rows = []
    for model, ours in (("A", 2e6), ("B", 8e6)):
        row = Row(model, "float32", PROCESSORS["a76"])
        row.figures = {"sdk": Figure(ours, 1e6, 90.0), "ncnn": Figure(4e6, 2e6, 90.0), "MNN": Figure(5e6, 1e6, 90.0)}
        row.reasons = {"LiteRT": "it has no operator"}
        rows.append(row)
    empty = Row("C", "float32", PROCESSORS["a76"], reasons={"sdk": "it has no program"})
    results = Results(tmp_path / "results.json")
    results.put(rows[0].name("sdk"), "key", Figure(1.0, 1.0, 1.0))
    text = page([*rows, empty], {"sdk": "sdk-x", "ncnn": "ncnn", "MNN": "mnn", "LiteRT": "litert"}, results)
    today = date.today()
    assert f"Versions. Counted from {today} to {today}." in text
    assert "| C |" not in text and "- sdk, float32, C: it has no program" in text
    assert "| A | 2.0 / 1.0 | 4.0 / 2.0 | 5.0 / 1.0 | – | 0.50 (ncnn) | 1.00 (MNN) |" in text
    assert "| geometric mean |  |  |  |  | **1.00** | **1.00** |" in text
    assert "- LiteRT, float32, A; B: it has no operator" in text


def test_the_page_says_on_which_processors_a_model_was_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.arm.page.versions", lambda columns: "Versions.")
    rows = []
    for model in ("A", "B", "C"):
        for name in ("a55", "a76"):
            row = Row(model, "float32", PROCESSORS[name])
            if name == "a55" or model == "C":
                row.reasons = {"sdk": "it has no operator"}
            rows.append(row)
    text = page(rows, {"sdk": "sdk-x"}, Results(tmp_path / "results.json"))
    assert "- sdk, float32, A; B on Cortex-A55: it has no operator\n- sdk, float32, C: it has no operator" in text


def test_engines_and_models_without_figures_are_named_together() -> None:
    rows = [Row(model, "int8", PROCESSORS["a76"], reasons={"MNN": "late", "ncnn": "late"}) for model in "ABCD"]
    rows[2].reasons["sdk"] = "late"
    assert list(missing(rows))[2:] == ["- MNN, ncnn, int8, all models: late", "- sdk, int8, C: late"]


@pytest.mark.parametrize("weights", ["Q4_0", "Q4_K"])
def test_random_weights_have_the_size_of_a_trained_layer(weights: str) -> None:
    """Activations keep their size from layer to layer, so that the logits of the engines can be compared."""
    gguf = pytest.importorskip("gguf")
    blocks = llm_files.RANDOM_BLOCKS[weights](np.random.default_rng(0), 64, 512)
    numbers = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[weights])
    assert numbers.shape == (64, 512)
    assert abs(float(numbers.mean())) < 0.1 / 512**0.5
    assert 0.5 / 512**0.5 < float(numbers.std()) < 1.2 / 512**0.5


def test_a_file_is_written_in_another_type(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    numbers = np.random.default_rng(1).standard_normal((8, 64), dtype=np.float32)
    writer = gguf.GGUFWriter(tmp_path / "one.gguf", "llama")
    writer.add_file_type(int(gguf.LlamaFileType.MOSTLY_Q8_0))
    writer.add_token_list(["a", "b"])
    q8 = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("output.weight", gguf.quants.quantize(numbers, q8), raw_dtype=q8)
    writer.add_tensor("output_norm.weight", numbers[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    llm_files.requantize(tmp_path / "one.gguf", tmp_path / "two.gguf", "Q4_0")
    reader = gguf.GGUFReader(tmp_path / "two.gguf")
    assert reader.fields["tokenizer.ggml.tokens"].contents() == ["a", "b"]
    assert reader.fields["general.file_type"].contents() == int(gguf.LlamaFileType.MOSTLY_Q4_0)
    matrix, norm = reader.tensors
    assert (matrix.tensor_type.name, norm.tensor_type.name) == ("Q4_0", "F32")
    found = gguf.quants.dequantize(matrix.data, matrix.tensor_type)
    # A weight of Q4_0 is a multiple of an eighth of the largest in its group of 32, from -8 to 7 times.
    largest = np.abs(numbers.reshape(-1, 32)).max(axis=1, keepdims=True)
    assert (np.abs((found - numbers).reshape(-1, 32)) <= largest / 8 + 0.02).all()
    assert (norm.data == numbers[0]).all()
