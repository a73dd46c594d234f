# SPDX-License-Identifier: BSD-3-Clause
"""README.md, NOTICE and CHANGELOG.md: their statements on the repository are true."""

from __future__ import annotations

import re
import subprocess
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def files() -> list[str]:
    """What is tracked by git."""
    found = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def test_the_notice_names_every_schema_and_list_of_operators() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    table = load_script("backend_table")
    originals = tuple(f"backends/{m['name']}/" for m in table.read_all(ROOT) if m["title"] in table.ORIGINALS)
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
    """Keep a Changelog: versions, and in each of them only these sections."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert versions[0] == "Unreleased" and len(versions) > 1
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions[1:])
    sections = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_tables_of_backends_are_current() -> None:
    """They are written from the manifests."""
    done = subprocess.run([ROOT / "scripts" / "backend_table", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_table_that_is_not_current_is_found() -> None:
    """--check compares the table with the manifests' titles, hardware and systems."""
    table = load_script("backend_table")
    manifest = {
        "name": "apple/coreml",
        "title": "Core ML",
        "hardware": "Apple's",
        "status": "experimental",
        "platforms": ["macos", "ios"],
        "verified": {"macos": {"by": [], "text": "not run"}, "ios": {"by": ["device"], "text": "run on a phone"}},
    }
    front = table.front_table([manifest])
    row = "| [Core ML](docs/backends-coreml.md) (experimental) | Apple's | no | not run | no | run on a phone |"
    assert row in front and "Core ML" not in front.rpartition("Not here yet")[2]
    assert "| [Core ML](backends-coreml.md) | iOS, macOS | NPU, GPU, CPU | yes |" in table.choice_table([manifest])
    page = "a\n<!-- backends: begin -->\nold\n<!-- backends: end -->\nb\n"
    assert table.written(page, "new\n") == page.replace("old", "new")


def test_the_front_pages_commands_exist() -> None:
    """Each script, step and file that stands behind a claim."""
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


def load_script(name: str) -> ModuleType:
    """A script of scripts/ as a module."""
    loader = SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = ModuleType(name)
    module.__file__ = loader.path
    loader.exec_module(module)
    return module
