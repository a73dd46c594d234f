# SPDX-License-Identifier: BSD-3-Clause
"""README.md, NOTICE and CHANGELOG.md: their statements on the repository are true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import forked

from blocks import blocks

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import status  # noqa: E402
from backend_manifests import read_all  # noqa: E402
from status_tables import Tables, filled_page  # noqa: E402


def files() -> list[str]:
    """Returns the files that git tracks."""
    found = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def test_the_notice_names_every_schema_and_list_of_operators() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    titles = {entry["title"] for entry in status.read()["backends"]}
    originals = tuple(f"backends/{manifest['name']}/" for manifest in read_all(ROOT) if manifest["title"] in titles)
    credited = [
        path
        for path in files()
        if (path.endswith(".fbs") and (path.startswith("sdk/") or path.startswith(originals)))
        or re.fullmatch(r"kernels/\w+/functions\.yaml", path)
        or path in ("codegen/aten_schemas.txt", "python/sdk/exir/dialects/edge/edge.yaml")
    ]
    assert len(credited) >= 11
    assert [path for path in credited if path not in notice] == []


def test_what_the_notice_names_is_there() -> None:
    paths = re.findall(r"\b(?:sdk|backends|kernels|python|codegen)/[\w/.]+\w", (ROOT / "NOTICE").read_text())
    assert paths and [path for path in paths if not (ROOT / path).exists()] == []


def test_the_changelog_has_the_usual_sections() -> None:
    """The changelog follows Keep a Changelog: versions, which contain only these sections."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert versions[0] == "Unreleased" and len(versions) > 1
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions[1:])
    sections = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.always
def test_the_generated_pages_are_current() -> None:
    """Tables of the status and the manifests, coverage, kernels and the operators of backends."""
    command = [sys.executable, ROOT / "scripts" / "pages", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


MANIFEST: dict[str, Any] = {
    "name": "apple/coreml",
    "title": "Core ML",
    "hardware": "Apple's",
    "status": "experimental",
    "platforms": ["macos", "ios"],
    "verified": {
        "linux": {"by": [], "text": "not run"},
        "macos": {"by": [], "text": "not run on a Mac"},
        "ios": {"by": ["device"], "text": "run on a phone"},
    },
}


def tables() -> Tables:
    return Tables(status.read(), [MANIFEST], {"rows": "7"})


def test_a_backend_in_the_tables() -> None:
    """The title, processors and systems are those of the manifest. A platform lists each backend that was tried on
    it."""
    front = tables().text("front backends")
    row = "| [Core ML](docs/backends-coreml.md) (experimental) | Apple's "
    assert f"{row}| not run | not run on a Mac | not built for it | run on a phone |" in front
    assert "Core ML" not in front.rpartition("Not here yet")[2]
    row = "| [Core ML](backends-coreml.md) | iOS, macOS | NPU, GPU, CPU | experimental | iOS |"
    assert row in tables().text("backends")
    platforms = tables().text("platforms")
    assert "| Linux | [Core ML](backends-coreml.md) | not run |" in platforms
    assert "| Windows | XNNPACK | not here |" in platforms
    assert "| iOS | run on a phone |" in tables().text("backend: Core ML")


def test_marks_of_a_page(tmp_path: Path) -> None:
    """The text between the marks is replaced. A mark that is unknown or not closed is an error."""
    page = tmp_path / "page.md"
    page.write_text("a <!-- status: rows -->9<!-- end --> b\n<!-- status: nobody -->\nold\n<!-- end -->\nc\n")
    text = filled_page(page, tables())
    assert text.startswith(
        "a <!-- status: rows -->7<!-- end --> b\n<!-- status: nobody -->\n**Nobody has run it** on macOS"
    )
    assert text.endswith(".\n<!-- end -->\nc\n")
    page.write_text("<!-- status: lines -->9<!-- end -->\n")
    with pytest.raises(status.StatusError, match=r"page\.md: there is no table 'lines'"):
        filled_page(page, tables())
    page.write_text("<!-- status: rows -->9\n")
    with pytest.raises(status.StatusError, match=r"page\.md: each mark .* needs one <!-- end -->"):
        filled_page(page, tables())


README = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COMMAND = re.compile(r"`((?:scripts|python|tests)[ /][^`]*)`")


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def figures(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of the only place where `pattern` is found; a space matches any white space."""
    found = re.findall(pattern.replace(" ", r"\s+"), text)
    assert len(found) == 1, (pattern, found)
    return found[0] if isinstance(found[0], tuple) else (found[0],)


def test_the_front_pages_commands_exist() -> None:
    """Each script, step, option and file that a claim refers to exists."""
    steps = set(subprocess.run([ROOT / "scripts" / "test.sh", "--list"], capture_output=True, text=True).stdout.split())
    commands = COMMAND.findall(README)
    assert len(commands) >= 20
    for command in commands:
        if command.startswith("python "):
            assert command.startswith("python -m sdk.export"), f"{command}: no test runs this"
            continue
        words = command.split()
        assert (ROOT / words[0]).exists(), command
        if words[0] == "scripts/test.sh":
            assert set(words[1:]) <= steps, command
        if words[0] == "scripts/bench" and len(words) > 1:
            assert f'"{words[1]}"' in (ROOT / "scripts" / "bench").read_text(encoding="utf-8"), command


def test_every_claim_of_the_front_page_has_its_evidence() -> None:
    """Each row of the table of parts, each system and each point of *Why* names a command or file."""
    points = re.findall(r"^- .+?(?=^- |\Z)", section("Why"), re.MULTILINE | re.DOTALL)
    assert len(points) >= 6
    assert [point for point in points if not COMMAND.search(point)] == []
    for title in ("What is here, and what is not", "What it was run on"):
        rows = re.findall(r"^\| (.+) \|$", section(title).partition("[docs/project/coverage.md]")[0], re.MULTILINE)[1:]
        assert len(rows) >= 6
        for row in rows:
            cell = row.split(" | ")[-1]
            assert COMMAND.search(cell) or re.search(r"\]\(\S+\.md\)", cell), f"{title}: {row}"


def test_the_front_pages_exports(tmp_path: Path) -> None:
    """The summary of the first export is the page's, apart from rounding errors and times. Each export that a sentence
    shows works."""
    page = ROOT / "README.md"
    (source,) = (block for block in blocks(page) if block.text == "net.py")
    (tmp_path / "net.py").write_text(source.code)
    shown = README.partition("```text\n")[2].partition("\n```")[0]
    commands = [command for command in COMMAND.findall(README) if "net.py" in command]
    commands.insert(0, "".join(block.code for block in blocks(page) if "sdk.export net.py" in block.code).strip())
    assert len(commands) == 2 and "--report" in commands[1]
    for command in commands:
        done = forked.run(*command.split()[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert _without_measurements(done.stdout) == _without_measurements(shown)
    assert (tmp_path / "net.html").stat().st_size > 1000


def _without_measurements(summary: str) -> list[str]:
    text = re.sub(r"PyTorch [\d.e-]+, or [\d.e-]+ of", "PyTorch D, or D of", summary)
    text = re.sub(r"[\d.]+ ms a call; PyTorch eager takes [\d.]+ ms", "T ms a call; PyTorch eager takes T ms", text)
    return text.split()


def test_the_front_pages_speeds_are_those_of_the_benchmarks() -> None:
    """The means and counts of models are those of the table of all peers, the Arm figures those of its tables."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    peers = page.partition("<!-- bench peers: begin -->")[2].partition("<!-- bench peers: end -->")[0]
    assert figures(r"On ([\d-]+), this SDK", README) == figures(r" on ([\d-]+), AMD EPYC", peers)
    count = r"(\w+)"
    said = [
        figures(
            rf"it was ([\d.]+) times as fast .+? in float32 \({count} models: ahead in {count}, level in {count}\)",
            README,
        ),
        figures(
            rf"and ([\d.]+) times in int8 \(the {count} models .+? ahead in {count}, level in {count}, "
            rf"behind in {count}\)",
            README,
        ),
    ]
    for dtype, claim in zip(("float32", "int8"), said, strict=True):
        mean, *counts = figures(
            rf"- {dtype}, 1 thread: \*\*([\d.]+)\*\* over (\d+) models \((\d+) ahead, (\d+) level, (\d+) behind\)",
            peers,
        )
        found = [str(WORDS.index(word)) for word in claim[1:]]
        assert (claim[0], found + ["0"] * (4 - len(found))) == (mean, counts)
    ratio = r"([\d.]+)"
    q4_1, others, mobile_net = figures(
        rf"takes {ratio} of llama.cpp's instructions in Q4_1 and {ratio} in Q4_0 and Q8_0, "
        rf"MobileNetV2 in float32 {ratio} times ncnn's",
        README,
    )
    arm = page.partition("float32, Cortex-A76 ")[2].partition("\n\nfloat32, Cortex-X2")[0]
    assert figures(rf"\| MobileNetV2 \|.+\| {ratio} \(ncnn\) \| [\d.]+ \(\w+\) \|", arm) == (mobile_net,)
    llm = page.partition("weights of few bits, Cortex-A76 ")[2].partition("geometric mean")[0]
    for name, claimed in (("Q4_1", q4_1), ("Q4_0", others), ("Q8_0", others)):
        assert figures(rf"\| SmolLM2 {name}, one token \|.+?\| {ratio} \(llama.cpp\)", llm) == (claimed,)


def test_the_front_pages_requirements_and_durations() -> None:
    """The compiler, CMake, Python's packages and the time of the demo are those that the build and the demo name."""
    standard, cmake = figures(r"needs a C\+\+(\d+) compiler and CMake (\d+\.\d+)", README)
    build = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert f"cmake_minimum_required(VERSION {cmake})" in build
    assert f"PUBLIC cxx_std_{standard}" in (ROOT / "cmake" / "Targets.cmake").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "which needs NumPy alone" in README and re.search(
        r'^dependencies = \["numpy>=[\d.]+"\]$', project, re.MULTILINE
    )
    fast, slow = figures(
        r"about \$\(\(\((\d+) \+ jobs - 1\) / jobs\)\) to \$\(\(\((\d+) \+ jobs - 1\) / jobs \+ 1\)\) minutes",
        (ROOT / "scripts" / "demo.sh").read_text(encoding="utf-8"),
    )
    said = figures(r"first run takes (\w+) to (\w+) minutes on two cores, later runs half a minute", README)
    assert said == (WORDS[-(-int(fast) // 2)], WORDS[-(-int(slow) // 2) + 1])
    assert not (ROOT / ".gitmodules").exists()
