# SPDX-License-Identifier: BSD-3-Clause
"""README.md, NOTICE and CHANGELOG.md: their statements on the repository are true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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


def test_the_front_pages_commands_exist() -> None:
    """Each script, step and file that a claim refers to exists."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    steps = set(subprocess.run([ROOT / "scripts" / "test.sh", "--list"], capture_output=True, text=True).stdout.split())
    commands = re.findall(r"`((?:scripts|python -m pytest|tests)[^`]*)`", text)
    assert len(commands) >= 10
    for command in commands:
        words = command.removeprefix("python -m pytest ").split()
        assert (ROOT / words[0]).exists(), command
        if words[0] == "scripts/test.sh":
            assert set(words[1:]) <= steps, command
        if words[0] == "scripts/bench" and len(words) > 1:
            assert f'"{words[1]}"' in (ROOT / "scripts" / "bench").read_text(encoding="utf-8"), command
