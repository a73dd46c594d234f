# SPDX-License-Identifier: BSD-3-Clause
"""Only one folder includes XNNPACK's private headers, so only that folder must be compared in an upgrade."""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[4]
PRIVATE = "backends/xnnpack/runtime/private"
FOLDERS = ("backends", "examples", "kernels", "python", "sdk", "tests", "tools")
# XNNPACK's public header is <xnnpack.h>.
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](?:src/)?xnnpack/', re.MULTILINE)


def test_only_one_folder_includes_private_headers() -> None:
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cpp")]
    found = {path.parent.relative_to(ROOT).as_posix() for path in sources if INCLUDE.search(path.read_text("utf-8"))}
    assert found == {PRIVATE}


def test_the_readme_names_each_place_that_an_upgrade_touches() -> None:
    """The README names the folder, and everything that replaces or changes parts of XNNPACK in its build."""
    page = (ROOT / "backends/xnnpack/README.md").read_text("utf-8")
    build = (ROOT / "backends/xnnpack/third_party.cmake").read_text("utf-8")
    headers = re.findall(r"CMAKE_CURRENT_LIST_DIR}/(\w+\.h)", build)
    replaced = re.findall(r"COMPILE_DEFINITIONS (\w+)=", build)
    assert headers and replaced
    for name in ("runtime/private", "third_party.cmake", *headers, *replaced):
        assert name in page, name
