# SPDX-License-Identifier: BSD-3-Clause
"""docs/backends.md: the statements on backends' folders, on their dependencies and on their pages are true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")
BACKENDS = sorted(path.name for path in (ROOT / "backends").iterdir() if (path / "CMakeLists.txt").exists())
MANIFESTS = sorted((ROOT / "backends").rglob("backend.json"), key=lambda path: path.parent.name)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NUMBER = re.compile(r"==\d")


def package(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert match is not None, requirement
    return match[0]


def requirements(backend: str) -> list[str]:
    path = ROOT / "backends" / backend / "requirements.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def fetched_sources(backend: str) -> list[str]:
    """The third-party sources that a backend compiles, as its third_party.cmake fetches them."""
    path = ROOT / "backends" / backend / "third_party.cmake"
    if not path.exists():
        return []
    (fetched,) = re.findall(r"executorch_fetch\((.+)\)", path.read_text(encoding="utf-8"))
    return fetched.split()


def test_every_backend_has_a_row_and_those_that_are_here_a_page() -> None:
    """BKO-02: there are twelve rows. BKO-03: they include those of Android."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.count(" | ") == 4]
    table = [row for row in rows if row[3] in ("supported", "experimental", "no")]
    assert len(table) == 12
    here = [row[0] for row in table if row[3] in ("supported", "experimental")]
    pages = sorted(re.search(r"\((.+)\)", cell)[1] for cell in here)
    assert pages == [f"backends-{manifest.parent.name}.md" for manifest in MANIFESTS]
    assert sum("Android" in row[1] for row in table) == 5  # the row of the default backend says "everywhere" instead


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_has_its_folders(name: str) -> None:
    """DINT-01, DINT-02, DINT-04, DINT-05: each backend has C++ code, Python code, tests of both, and a README."""
    folder, python = ROOT / "backends" / name, ROOT / "python" / "sdk" / "backends" / name
    assert (folder / "runtime").is_dir()
    assert any((python / name).exists() for name in ("partition", "partitioner", "partitioner.py"))
    assert list(folder.rglob("*_test.cpp")) and list((folder / "test").rglob("test_*.py"))
    readme = (folder / "README.md").read_text(encoding="utf-8")
    sections = ["Structure", "Features", "Known issues", "Dependencies"]
    assert [name for name in re.findall(r"^## (.+)", readme, re.M) if name in sections] == sections
    assert (folder / "setup.md").is_file()
    assert not [path for path in python.rglob("*") if path.suffix in (".cpp", ".h", ".so")]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_a_backend_is_built_by_its_option_alone(path: Path) -> None:
    """DINT-03: a backend is off by default, and only its option adds its folder to the build."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    # A documented name of the original may contain the family, the part that it builds, or the name of the target.
    family, name = path.parent.parent.name.upper(), path.parent.name.upper()
    target = manifest["target"].removesuffix("_backend").upper()
    assert re.fullmatch(f"EXECUTORCH_BUILD_({family}_)?({name}|{target})(_DELEGATE)?", manifest["option"])
    assert manifest["option"] not in (ROOT / "cmake" / "Options.cmake").read_text(encoding="utf-8")
    assert f"add_subdirectory({path.parent.relative_to(ROOT)}" not in (ROOT / "CMakeLists.txt").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("name", BACKENDS)
def test_nothing_but_the_backend_includes_what_it_links(name: str) -> None:
    """DINT-07, DINT-08: neither runtime nor extensions nor kernels refer to a backend's libraries. A backend
    that fetches pthreadpool links the runtime's pool of threads."""
    own = re.compile(rf'#include [<"](executorch/backends/|{name}\.h|cpuinfo\.h)')
    sources = [*(ROOT / "sdk" / "cpp").rglob("*.cpp"), *(ROOT / "sdk" / "cpp").rglob("*.h")]
    sources += [*(ROOT / "kernels").rglob("*.cpp"), *(ROOT / "kernels").rglob("*.h")]
    assert len(sources) > 500
    known = [path for path in sources if own.search(path.read_text(encoding="utf-8", errors="replace"))]
    assert [path for path in known if not path.name.endswith("_test.cpp")] == []
    if "pthreadpool" in fetched_sources(name):
        assert "extension_threadpool" in (ROOT / "backends" / name / "CMakeLists.txt").read_text(encoding="utf-8")


def test_the_package_needs_no_backends_dependencies() -> None:
    """DINT-06, DINT-09, DINT-10, DINT-12: the packages that backends and tests need are in extras, with exact versions
    for backends, and in the backend's own list."""
    always = {package(requirement) for requirement in PROJECT["dependencies"]}
    assert always == {"numpy"}
    extras = PROJECT["optional-dependencies"]
    for name in BACKENDS:
        needed = requirements(name)
        assert all(NUMBER.search(requirement) for requirement in needed)
        assert any(set(needed) <= set(extra) for extra in extras.values())
        assert not always & {package(requirement) for requirement in needed}
    assert "pytest" in {package(requirement) for requirement in extras["test"]}


def test_a_backend_imports_its_dependencies_where_it_uses_them() -> None:
    """DINT-06, XNN-07: the partitioner, and lowering with it, need only the package."""
    code = (
        "import json, sys, torch; from sdk.exir import to_edge_transform_and_lower; from sdk.backends import registry;"
        "partitioner = registry.default_backend().make('partitioner');"
        "program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),));"
        "to_edge_transform_and_lower(program, partitioner=[partitioner]).to_executorch();"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert "sdk" in loaded
    assert not {package(requirement) for name in BACKENDS for requirement in requirements(name)} & set(loaded)


def test_sources_are_pinned_and_not_in_the_repository() -> None:
    """DINT-10, DINT-13: third-party sources are pinned by a hash of their contents. There are no submodules."""
    assert not (ROOT / ".gitmodules").exists()
    script = (ROOT / "scripts" / "third_party_pins.py").read_text(encoding="utf-8")
    shared = dict(re.findall(r'"([a-z-]+)": Pin\((.+?)\n    \)', script, re.S))
    for name in BACKENDS:
        for source in fetched_sources(name):
            manifest = json.loads((ROOT / "backends" / name / "backend.json").read_text(encoding="utf-8"))
            own = manifest["sources"].get(source)
            pin = shared[source] if own is None else json.dumps(own)
            assert re.search(r'content_sha256"?[=:] ?"[0-9a-f]{64}"', pin), source


@pytest.mark.parametrize("name", BACKENDS)
def test_dependencies_are_explained(name: str) -> None:
    """DINT-11: the page explains why each dependency is there, and how to upgrade it."""
    table = (ROOT / "backends" / name / "README.md").read_text(encoding="utf-8").partition("## Dependencies")[2]
    table = table.partition("\n## ")[0]
    for needed in (*fetched_sources(name), *map(package, requirements(name))):
        (row,) = [line for line in table.splitlines() if line.lower().split(" | ")[0].find(needed) >= 0]
        assert all(len(cell) > 10 for cell in row.strip("| ").split(" | ")[1:])


@pytest.mark.parametrize("name", BACKENDS)
def test_a_page_answers_what_the_overview_of_a_backend_has_to(name: str) -> None:
    """TPL-01, TPL-02, TPL-04: the page of a backend describes features, requirements, use, how it is built and linked,
    and whether libraries for phones contain it; its operators and its quantisation are there or on separate pages."""
    text = (ROOT / "docs" / f"backends-{name}.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)", text, re.M)
    wanted = ["Features", "Target requirements", "Development requirements", "Export", "Run", "When something is wrong"]
    assert [section for section in sections if section in wanted] == wanted
    manifest = json.loads((ROOT / "backends" / name / "backend.json").read_text(encoding="utf-8"))
    for said in (f"-D{manifest['option']}=ON", f"`{manifest['target']}`", "Android", "iOS"):
        assert said in text
    assert (f"{name}-operators.md" in text or "\n### Operators\n" in text) and "quantization.md" in text


def test_the_page_on_quantising_answers_for_each_scheme() -> None:
    """TPL-03: weights, activations, bits and granularity; the steps and code; the limits to some operators.
    QNT-13: static, dynamic, after training and aware of it."""
    text = (ROOT / "docs" / "quantization.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if re.match(r"\| `int", line)]
    assert len(rows) == 5 and all("bits" in row and "scale" in row for row in rows)
    assert all("of linear layers" in row for row in rows if row.startswith("| `int4"))
    for word in ("*Static*", "*Dynamic*", "*post-training*", "*quantisation-aware training*", "prepare_qat_pt2e"):
        assert word in text
