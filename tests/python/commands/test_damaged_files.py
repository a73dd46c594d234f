# SPDX-License-Identifier: BSD-3-Clause
"""Files that are not of the expected kind: commands and developer tools answer with one line, never a traceback."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import Result

from sdk.asr.__main__ import _COMMANDS as ASR_COMMANDS
from sdk.devtools.inspector import inspector_cli
from sdk.devtools.pte_tool import diff_pte
from sdk.devtools.scripts import generate_profiling_csv
from sdk.devtools.size_analysis_tool import size_analysis_tool
from sdk.llm.__main__ import _COMMANDS as LLM_COMMANDS

Call = Callable[..., Result]
DATA = Path(__file__).resolve().parents[2] / "data"
GOOD = "add.pte"
COMMANDS = (
    ["run", "BAD", "--input", "ones"],
    ["run", GOOD, "--input", "BAD", "--input", "ones"],
    ["run", GOOD, "--input", "ones", "--input", "ones", "--data", "BAD"],
    ["run", GOOD, "--input", "ones", "--input", "ones", "--labels", "BAD"],
    ["bench", "BAD"],
    ["bench", GOOD, "--data", "BAD"],
    ["test", "BAD"],
    ["test", "add.bpte", "--data", "BAD"],
    ["test", "add.bpte", "--only-runners", "--runner", "BAD"],
    ["wrap", "BAD", "--language", "cpp"],
    ["inspect", "BAD"],
    ["inspect", "BAD", "--html", "page.html"],
    ["inspect", GOOD, "--etdump", "BAD"],
    ["inspect", "--etdump", "BAD", "--etrecord", "BAD"],
    ["inspect", GOOD, "--html", "page.html", "--etrecord", "BAD"],
    ["inspect", GOOD, "--html", "page.html", "--report", "BAD"],
    ["inspect", "--diff", GOOD, "BAD"],
    ["debug", "BAD"],
    ["debug", GOOD, "--etrecord", "BAD"],
    ["debug", "BAD", GOOD],
    ["export", "BAD"],
    ["export", "net.py:net", "--inputs", "BAD"],
    ["export", "net.py:net", "--input", "1x8:float32", "--recipe", "BAD"],
    ["llm", "run", "BAD", "--prompt", "hi"],
    ["llm", "run", "lm.pte", "--prompt-file", "BAD"],
    ["llm", "run", "lm.pte", "--prompt", "hi", "--tokenizer", "BAD"],
    ["llm", "run", "lm.pte", "--prompt", "hi", "--data", "BAD"],
    ["llm", "chat", "BAD"],
    ["llm", "bench", "BAD"],
    ["llm", "eval", "BAD", "--text", "net.py"],
    ["llm", "eval", "lm.pte", "--text", "BAD"],
    ["llm", "embed", "BAD", "hi"],
    ["llm", "embedder", "BAD", "-o", "out.pte"],
    ["llm", "export", "BAD", "-o", "out.pte"],
    ["llm", "adapter", "BAD", "--program", "lm.pte", "-o", "out.ptd"],
    ["llm", "adapter", "adapter", "--program", "BAD", "-o", "out.ptd"],
    ["asr", "export", "BAD", "-o", "out.pte"],
    ["asr", "transcribe", "BAD", "a.wav"],
    ["codegen", "size", "BAD"],
)
TOOLS = {
    "diff_pte": lambda bad: diff_pte.main([GOOD, bad]),
    "diff_pte of one file": lambda bad: diff_pte.main([bad, bad]),
    "inspector_cli": lambda bad: inspector_cli.main(["--etdump_path", bad]),
    "generate_profiling_csv": lambda bad: generate_profiling_csv.main(["--etdump_path", bad, "--output", "out.csv"]),
    "size_analysis_tool": lambda bad: size_analysis_tool.main(["--etrecord_path", bad, "--output_path", "out.json"]),
}
"""The tools with ExecuTorch's arguments; they return 1."""
FILES = ("folder", "missing", "empty", "cut.pte", "cut_end.pte", "text.pte", "cut.zip")
TEXTS = ("--labels", "--prompt-file", "--text", "--report")
"""Options for files of text."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    program = (DATA / "corpus" / "add" / "model.pte").read_bytes()
    shutil.copy(DATA / "corpus" / "bundled" / "model.bpte", "add.bpte")
    shutil.copy(DATA / "language_model.pte", "lm.pte")
    (tmp_path / "net.py").write_text("import torch\n\nnet = torch.nn.Linear(8, 4)\n")
    contents = {
        GOOD: program,
        "empty": b"",
        "cut.pte": program[:100],
        "cut_end.pte": program[:-16],
        "text.pte": b"This is not a program.\n" * 20,
        "cut.zip": b"PK\x03\x04" + bytes(60),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for name in ("folder", "adapter"):
        (tmp_path / name).mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}")
    return tmp_path


def test_every_command_is_tried() -> None:
    from sdk.__main__ import _commands

    groups = {"llm": LLM_COMMANDS, "asr": ASR_COMMANDS}
    assert {line[0] for line in COMMANDS} == set(_commands())
    for group, names in groups.items():
        assert {line[1] for line in COMMANDS if line[0] == group} == set(names)


@pytest.mark.sampled
@pytest.mark.parametrize("bad", FILES)
def test_commands(sdk: Call, folder: Path, bad: str) -> None:
    """Status 2 (1 of an export), a line that names the file, and nothing is written."""
    before = sorted(path.name for path in folder.rglob("*") if "__pycache__" not in path.parts)
    problems = []
    for line in COMMANDS:
        if bad in ("empty", "text.pte", "cut.zip") and line[line.index("BAD") - 1] in TEXTS:
            continue  # that is text
        if bad == "cut_end.pte" and line[0] == "codegen":
            continue  # the operators are whole, and it reads nothing else
        found = sdk(*(bad if part == "BAD" else part for part in line))
        said = [text for text in found.err.splitlines() if text.startswith(("sdk ", "error: ", "sdk:"))]
        expected = (1, 2) if line[0] == "export" else (2,)
        if found.status not in expected or "Traceback" in found.err or len(said) != 1:
            problems.append((" ".join(line), found.status, found.err[-600:], found.out[-200:]))
    assert not problems, "\n".join(map(str, problems))
    assert sorted(path.name for path in folder.rglob("*") if "__pycache__" not in path.parts) == before


@pytest.mark.parametrize("bad", FILES)
@pytest.mark.parametrize("tool", TOOLS)
def test_tools(folder: Path, tool: str, bad: str) -> None:
    errors, output = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output):
        status = TOOLS[tool](bad)
    assert status == 1 and not output.getvalue()
    assert errors.getvalue().startswith("error: ") and errors.getvalue().count("\n") == 1 and bad in errors.getvalue()
    assert not (folder / "out.csv").exists() and not (folder / "out.json").exists()
