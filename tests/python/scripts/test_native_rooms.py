# SPDX-License-Identifier: BSD-3-Clause
"""The rules for includes between folders of the native code: the runtime includes no kernels, a backend no kernel
library."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"](?:\.\./)*((?:kernels|backends)/[^>"]+)[>"]', re.MULTILINE)


def included(folder: str) -> dict[str, set[str]]:
    """Returns each source of a folder with the headers of kernels and backends that it includes."""
    sources = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cpp", ".c")]
    assert sources, f"{folder} has no sources"
    found = {}
    for path in sources:
        headers = INCLUDE.findall(path.read_text(encoding="utf-8"))
        # A backend may have its own folder `kernels`.
        found[str(path.relative_to(ROOT))] = {header for header in headers if (ROOT / header).exists()}
    return found


@pytest.mark.parametrize("folder", ["sdk/cpp/executorch/runtime", "sdk/cpp/executorch/schema"])
def test_the_runtime_includes_no_kernels(folder: str) -> None:
    found = {source: headers for source, headers in included(folder).items() if headers}
    assert not found


def test_backends_share_simd_code_with_kernels_and_nothing_else() -> None:
    for source, headers in included("backends").items():
        others = {h for h in headers if not h.startswith(("kernels/simd/", "backends/"))}
        assert not others, f"{source} includes {sorted(others)}: move what it needs to kernels/simd"


def test_kernels_include_no_backend() -> None:
    for source, headers in included("kernels").items():
        assert not {h for h in headers if h.startswith("backends/")}, source
    for source, headers in included("kernels/simd").items():
        others = {h for h in headers if not h.startswith("kernels/simd/")}
        assert not others, f"{source} includes {sorted(others)}"


def test_headers_of_tests_are_not_installed() -> None:
    """Headers that need GoogleTest have names that the rules of installation exclude."""
    rules = (ROOT / "cmake/Package.cmake").read_text(encoding="utf-8").split("install(")[1:]
    folders = [rule for rule in rules if rule.startswith("DIRECTORY") and "FILES_MATCHING PATTERN" in rule]
    sources = [rule for rule in folders if "*.h" in rule and "/generated/" not in rule]
    assert len(sources) >= 2 and all('"*_test_support.h" EXCLUDE' in rule for rule in sources), sources
    for header in (ROOT / "sdk/cpp/executorch").rglob("*.h"):
        if re.search(r"#\s*include\s+<g(test|mock)/", header.read_text(encoding="utf-8")):
            excluded = header.name.endswith("_test_support.h") or {"test", "testing_util"} & set(header.parts)
            assert excluded, f"{header} would be installed: end its name with _test_support.h"
