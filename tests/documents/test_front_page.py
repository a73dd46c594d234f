# SPDX-License-Identifier: BSD-3-Clause
"""README.md, NOTICE and CHANGELOG.md: what they say of the repository is so."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def files() -> list[str]:
    """What is tracked by git."""
    found = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def test_the_notice_names_every_schema_and_list_of_operators() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    credited = [
        path
        for path in files()
        if (path.endswith(".fbs") and path.startswith(("sdk/", "backends/xnnpack/")))
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
