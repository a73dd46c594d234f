# SPDX-License-Identifier: BSD-3-Clause
"""scripts/undocumented: it finds public declarations without a comment, and only those."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "undocumented"

HEADER = """
namespace executorch {{
namespace extension {{
/// A thing.
class Thing {{
 public:
  Thing(int size);
  int size() const {{ return size_; }}

  /// Makes it larger.
  void grow(int by);
  void shrink(int by);

  void grow(double by);
{declaration}
 private:
  int hidden(int value);
  int size_;
}};
namespace internal {{
int helper(int value);
}}
}}
}}
"""


@pytest.fixture(autouse=True)
def beside_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)


def found_in(folder: Path, declaration: str) -> list[str]:
    functions = runpy.run_path(str(SCRIPT))
    header = folder / "thing.h"
    header.write_text(HEADER.format(declaration=declaration))
    functions["undocumented"].__globals__["ROOT"] = folder
    return functions["undocumented"](header)


@pytest.mark.parametrize(
    "declaration", ["", "  /// Says it.\n  int said(int value);", "  bool operator==(const Thing& other) const;"]
)
def test_nothing_is_asked_of_what_is_documented_or_plain(tmp_path: Path, declaration: str) -> None:
    assert found_in(tmp_path, declaration) == []


@pytest.mark.parametrize(
    "declaration",
    ["  int untold(int value);", "  static int untold(\n      int value);", "  struct Part {\n    int x;\n  };"],
)
def test_a_declaration_without_a_comment_is_found(tmp_path: Path, declaration: str) -> None:
    (problem,) = found_in(tmp_path, "\n" + declaration)
    assert problem.startswith("thing.h:") and ("untold" in problem or "Part" in problem)


def test_the_headers_are_those_of_the_surface_tests() -> None:
    headers = runpy.run_path(str(SCRIPT))["headers"]()
    names = {str(header.relative_to(ROOT / "sdk" / "cpp")) for header in headers}
    assert {"executorch/extension/module/module.h", "executorch/runtime/executor/method.h"} <= names
    assert all(header.is_file() for header in headers)
