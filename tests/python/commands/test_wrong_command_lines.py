# SPDX-License-Identifier: BSD-3-Clause
"""Wrong command lines: each message says what was expected, what was found and what to do, and its advice works."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import Result

from sdk.devtools.inspector import inspector_cli
from sdk.util.words import similar

Call = Callable[..., Result]
DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.mark.parametrize(
    ("wrong", "known", "meant"),
    [
        ("PORTABLE", ["portable", "other"], "portable"),
        ("--quantise", ["--quantize", "--strict"], "--quantize"),
        ("--frobnicate", ["--strict", "--recipe", "--calibrate"], None),
        ("--format", ["--report", "--json"], None),
        ("--session", ["--json", "--seed"], None),
        ("flot32", ["float32", "int32"], "float32"),
        ("anything", [], None),
    ],
)
def test_only_what_is_alike_is_proposed(wrong: str, known: list[str], meant: str | None) -> None:
    assert similar(wrong, known) == meant


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that a newcomer may name, in the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(DATA / "corpus" / "add" / "model.pte", "add.pte")
    shutil.copy(DATA / "corpus" / "bundled" / "model.bpte", "add.bpte")
    shutil.copy(DATA / "language_model.pte", "lm.pte")
    shutil.copy(DATA / "speech" / "whisper.pte", "whisper.pte")
    (tmp_path / "text.pt").write_text("hello\n")
    (tmp_path / "cut.pte").write_bytes(Path("add.pte").read_bytes()[:100])
    (tmp_path / "models").mkdir()
    shutil.copy("add.pte", "models/small.pte")
    return tmp_path


TWO = "--input ones --input ones"


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("run ad.pte", 2, "there is no file `ad.pte`: pass the path of one. Did you mean `add.pte`?"),
        ("run models/smal.pte", 2, "Did you mean `models/small.pte`?"),
        ("run zzz.pte", 2, "there is no file `zzz.pte`: pass the path of one."),
        (f"run add.pte {TWO} --mean 1,2 --bgr", 2, "--mean, --bgr: expected an --input that is a picture (.png, "),
        (f"run add.pte {TWO} --resize crop", 2, "--resize: expected an --input that is a picture"),
        (f"run add.pte {TWO} --fit", 2, "--fit: expected an --input that is a WAV file (.wav), found none"),
        (f"run add.pte {TWO} --sample-rate 8000", 2, "--sample-rate: expected an --input that is a WAV file"),
        ("debug", 2, "sdk debug: the following arguments are required: PROGRAM. See `sdk debug --help`."),
        ("debug add.pte --input x.pt", 2, "unrecognized arguments: --input x.pt. Did you mean `--inputs`?"),
        ("llm run add.pte --prompt hi", 2, "`add.pte` is not a language model: expected a program of `sdk llm export`"),
        ("llm chat add.pte", 2, "`add.pte` is not a language model"),
        ("llm run lm.pte --prompt hi --session x", 2, "unrecognized arguments: --session x. See"),
        ("asr transcribe whisper.pte text.pt", 2, "in its first 12 bytes; text.pt is not a WAV file that can be used"),
        (
            "llm embed lm.pte hi",
            2,
            "`lm.pte` does not turn texts into vectors: expected a program of `sdk llm embedder`",
        ),
        ("run cut.pte", 2, "sdk run: `cut.pte` cannot be loaded: The flatbuffer of 100 bytes is not well formed"),
        (
            "inspect add.pte --etdump text.pt",
            2,
            "sdk inspect: `text.pt` cannot be read as an ETDump: expected an ETDump",
        ),
        ("test add.bpte --case 77", 2, "forward has 3 cases, so that there is no case 77: the first one is number 0"),
        ("wrap add.pte --language kotlin --package 1abc", 2, "and no digit first, found `1abc`"),
        ("inspect add.pte --format xml", 2, "unrecognized arguments: --format xml. See `sdk inspect --help`."),
        ("run --backend-info add.pte", 2, "--backend-info runs no program, found `add.pte`: leave one out"),
        ("run add.bpte --case 0 --input ones", 2, "--case: chooses the inputs of a test case, and --input gives"),
        ("bench add.bpte --case 0 --input ones", 2, "--case: chooses the inputs of a test case, and --input gives"),
        (f"run add.pte {TWO} --debug-buffer-size 9", 2, "--debug-buffer-size is the room for recorded values: pass"),
        ("run add.pte --input a.png --resize pad --resize-to 8", 2, "is not cut out with --resize pad: leave one out"),
        ("test add.bpte --only-runners --runner x --threads 2", 2, "which --only-runners leaves out: leave one out"),
        ("wrap add.pte --language swift --package a.b", 2, "--package: Swift has no packages in source files"),
        ("inspect --diff add.pte add.pte --top 3", 2, "takes only --json beside them, found --top: leave it out"),
        ("inspect --diff add.pte add.pte --source-time-scale us", 2, "found --source-time-scale: leave it out"),
        ("inspect add.pte --top 3", 2, "--top is the number of rows of the table of --markdown: pass that too"),
        ("inspect add.pte --markdown --json", 2, "--markdown and --json both choose what is printed: leave one out"),
        ("inspect add.pte --source-time-scale us", 2, "--source-time-scale and --etrecord show a run: pass its ETDump"),
        ("debug a.py:b add.pte --debug-buffer x", 2, "--debug-buffer has the tensors of an ETDump: pass --etdump too"),
        ("debug add.pte --etdump x --data y", 2, "--data is for a run here, and --etdump is of a run before"),
        ("debug add.pte --inputs x --bundled add.bpte", 2, "--inputs and --bundled are both inputs of the run"),
        ("debug add.pte --inputs x --case 1", 2, "--case chooses inputs of a bundled program, and --inputs gives"),
        ("debug a.py:b add.pte --etrecord x -- --quantize int8", 2, "--etrecord makes needless: leave one out"),
        ("debug add.pte -- --quantize int8", 2, "are for exporting the model again: pass MODEL too"),
        ("export a.py:b --no-verify --tolerance 1e-3", 2, "--tolerance is for the verification; leave --no-verify out"),
        ("codegen nosuch", 2, "sdk codegen: argument command: invalid choice: 'nosuch'"),
        ("codegen size", 2, "sdk codegen size: the following arguments are required: model.pte. See"),
        ("codegen size none.pte", 2, "sdk codegen size: there is no file `none.pte`: pass a program, or a folder"),
        ("export none.py", 1, "There is no file `none.py`."),
        ("export text.pt", 1, "`text.pt` has weights, from which a model cannot be exported."),
        ("export models", 1, "`models` is a folder. Write file.py:name for a model in a file of it"),
        ("export resnet18", 1, "`resnet18` does not say which model to export. Write file.py:name"),
        ("export a.py:b --input 1x8:float32 --backend PORTABLE", 2, "Did you mean `portable`?"),
        ("export a.py:b --input 1x8:float32 --frobnicate", 2, "unrecognized arguments: --frobnicate\n"),
    ],
)
def test_the_message_of_a_wrong_command_line(sdk: Call, folder: Path, line: str, status: int, message: str) -> None:
    found = sdk(*line.split())
    assert message in found.err and "Traceback" not in found.err
    assert found.status == status
    if line.split()[0] != "export":  # this command also prints its progress
        said = [text for text in found.err.splitlines() if text.startswith(("sdk ", "error: "))]
        assert len(said) == 1, found.err


@pytest.mark.parametrize(
    "line",
    [
        ["run", ""],
        ["run", "add.pte", "--data", ""],
        ["inspect", ""],
        ["inspect", "add.pte", "--html", ""],
        ["test", ""],
        ["bench", ""],
        ["wrap", "", "--language", "cpp"],
        ["debug", ""],
        ["llm", "export", "", "--output", "a.pte"],
        ["llm", "export", "models", "--output", ""],
        ["llm", "run", "", "--prompt", "hi"],
        ["llm", "chat", ""],
        ["asr", "transcribe", "", "a.wav"],
        ["export", "a.py:b", "--output", ""],
    ],
    ids=" ".join,
)
def test_an_empty_path_is_not_the_current_folder(sdk: Call, folder: Path, line: list[str]) -> None:
    found = sdk(*line)
    assert found.status == 2 and "expected a path, found an empty argument" in found.err


@pytest.mark.parametrize(
    ("option", "path", "message"),
    [
        ("--etdump_path", "models", "error: expected a file, found the folder `models`"),
        ("--etdump_path", "none.etdp", "error: there is no file `none.etdp`"),
        ("--etrecord_path", "models", "error: expected a file, found the folder `models`"),
    ],
)
def test_inspector_cli_says_which_file(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str, path: str, message: str
) -> None:
    given = ["--etdump_path", "add.pte"] if option != "--etdump_path" else []
    assert inspector_cli.main([*given, option, path]) == 1
    assert message in capsys.readouterr().err


def test_an_export_does_not_agree_where_nothing_is_compared(sdk: Call, folder: Path) -> None:
    """All outputs of a model may be empty, or NaN."""
    (folder / "empty.py").write_text("import torch\n\nNet = torch.nn.ReLU\n")
    found = sdk("export", "empty.py:Net", "--input", "0x8:float32", "--backend", "portable")
    assert found.status == 0 and "nothing was compared: 0 elements in 3 calls" in found.out
    assert "3 calls, nothing to compare" in found.err and "agrees" not in found.err


def test_a_nearby_file_is_not_proposed_for_another_name(sdk: Call, folder: Path) -> None:
    """`Did you mean` names a file that exists, as the path to pass."""
    assert "Did you mean" not in sdk("run", "nosuch.pte").err
    assert "Did you mean" not in sdk("run", "/nosuch/add.pte").err
