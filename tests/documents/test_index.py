# SPDX-License-Identifier: BSD-3-Clause
"""docs/README.md: the order of its sections, and the pages that replace the original's; docs/platforms.md and
docs/project/ecosystem.md: their lists are complete, and the things that they name exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from page_programs import ROOT
from test_front_page import read_all, status

DOCS = ROOT / "docs"
INDEX = (DOCS / "README.md").read_text(encoding="utf-8")
PLATFORMS = (DOCS / "platforms.md").read_text(encoding="utf-8")
ECOSYSTEM = (DOCS / "project" / "ecosystem.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def section(text: str, title: str) -> str:
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def counterparts() -> dict[str, str]:
    """For each name of a page of the original, the cell with ours. `-quantization` continues the name before it."""
    found = {}
    for names, cell in re.findall(r"^\| (.+) \| (.+) \|$", section(INDEX, "The original's pages"), re.MULTILINE)[1:]:
        before = ""
        for name in re.sub(r" \(.+?\)", "", names).replace(" and the pages beside it", "").split(", "):
            full = before.rpartition("-")[0] + name if name.startswith("-") else name
            found[full] = cell
            before = before if name.startswith("-") else name
    return found


COUNTERPARTS = counterparts()


def check(*names: str) -> None:
    """Checks that each page of the original has a row, whose links lead to files that exist."""
    for name in names:
        targets = LINK.findall(COUNTERPARTS[name])
        assert targets, name
        for target in targets:
            path, _, anchor = target.partition("#")
            assert not path or (DOCS / path).exists(), f"{name}: {target}"
            if anchor:
                assert anchor in anchors((DOCS / path) if path else DOCS / "README.md"), f"{name}: {target}"


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_arc21_sections_in_the_order_of_the_original() -> None:
    titles = re.findall(r"^## (.+)$", INDEX, re.MULTILINE)
    assert titles[:9] == ["Intro", "Quick start", "Edge", "Backends", "LLMs", "Advanced", "Tools", "API", "Support"]


def test_every_page_is_in_the_index() -> None:
    linked = {target.partition("#")[0] for target in LINK.findall(INDEX.partition("## The original's pages")[0])}
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md")} - {"README.md"}
    assert pages - linked == set()


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda path: path.name)
def test_anchors_of_links_exist(page: Path) -> None:
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in LINK.findall(prose):
        path, _, anchor = target.partition("#")
        if anchor and "://" not in target and (not path or path.endswith(".md")):
            assert anchor in anchors(page.parent / path if path else page), f"{page.name} links to {target}"


def test_docs01_the_advanced_pages() -> None:
    check(
        *(
            "quantization-optimization",
            "using-executorch-export",
            "kernel-library-advanced",
            "backend-delegate-advanced",
        ),
        *("runtime-integration-advanced", "compiler-ir-advanced", "file-formats-advanced"),
    )
    topics = [line.partition(":")[0] for line in section(INDEX, "Advanced").splitlines() if line.startswith("- ")]
    assert topics == [
        *("- Quantization and optimization", "- Model export", "- Kernel library", "- Backends and delegates"),
        *("- Runtime and integration", "- Compiler and IR", "- File formats"),
    ]


def test_docs03_the_pages_on_apis() -> None:
    check(
        *("export-to-executorch-api-reference", "executorch-runtime-api-reference", "runtime-python-api-reference"),
        *("api-life-cycle", "extension-module", "extension-tensor", "running-a-model-cpp-tutorial"),
    )
    assert "the javadoc jar" in section(INDEX, "API")


def test_docs04_the_pages_on_writing_backends() -> None:
    """DOCS-04, CPP-16: the pages on integrating, implementing, linking and debugging delegates, and on partitioners."""
    check(
        *("backend-delegates-integration", "backend-delegates-dependencies", "compiler-delegate-and-partitioner"),
        *("debug-backend-delegate", "runtime-backend-delegate-implementation-and-linking"),
    )


def test_docs05_the_pages_on_the_compiler() -> None:
    check(
        *("compiler-backend-dialect", "compiler-custom-compiler-passes", "compiler-memory-planning", "ir-exir"),
        *("ir-ops-set-definition", "compiler-entry-points"),
    )


def test_docs06_the_page_on_setting_up_is_two_pages() -> None:
    """DOCS-06: without a site, an address cannot be redirected; the index names both pages instead."""
    check("getting-started-setup")
    assert LINK.findall(COUNTERPARTS["getting-started-setup"]) == ["getting_started.md", "building.md"]


def test_docs09_backends_in_the_order_of_the_original() -> None:
    """DOCS-09: the index and the table have the original's order, and link to each backend of this repository."""
    original = [entry["title"] for entry in status.read()["backends"]]
    assert original == [
        *("XNNPACK", "Core ML", "Metal Performance Shaders", "Vulkan", "Qualcomm", "MediaTek", "Arm Ethos-U"),
        *("Arm VGF", "OpenVINO", "NXP eIQ Neutron", "Cadence", "Samsung Exynos"),
    ]
    items = re.findall(r"^\d+\. \[?([^\]\n(,]+)\]?", section(INDEX, "Backends"), re.MULTILINE)
    assert items == original
    row = re.compile(
        r"^\| \[?([^\]|(]+?)\]?(?:\(.+?\))? \| [^|]+ \| [^|]+ \| (?:supported|experimental|no) \|",
        re.MULTILINE,
    )
    table = row.findall((DOCS / "backends.md").read_text(encoding="utf-8"))
    assert table[:12] == original
    for page in DOCS.glob("backends-*.md"):
        assert f"]({page.name})" in section(INDEX, "Backends"), page.name


def test_docs11_examples() -> None:
    """DOCS-11: the index lists the original's demo apps and this repository's examples, whose folders exist."""
    text = section(INDEX, "Examples")
    for app in ("llm/android/LlamaDemo", "dl3/android/DeepLabV3Demo", "](backends-vgf.md)"):
        assert app in text
    folders = {target for target in LINK.findall(text) if target.startswith("../examples/")}
    assert len(folders) >= 10 and all((DOCS / folder).exists() for folder in folders)


def test_every_original_page_has_an_answer() -> None:
    """Each has a page that replaces it, or `none` and a link to the page that says what is missing."""
    assert len(COUNTERPARTS) > 110
    check(*COUNTERPARTS)
    assert all("coverage.md" in cell for cell in COUNTERPARTS.values() if cell.startswith("none"))


def rows_of_platforms() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    table = PLATFORMS.partition("<!-- status: platforms -->")[2].partition("<!-- end -->")[0]
    for platform, backend, state in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)[1:]:
        found.setdefault(platform, []).append((re.sub(r"\[(.+?)\]\(.+?\)", r"\1", backend), state))
    return found


def test_plat_the_backends_of_each_platform() -> None:
    """PLAT-01 to PLAT-06: each backend that the documents name for a platform has a row, with its state here."""
    documented = {
        "Linux": {"XNNPACK", "OpenVINO", "Arm Ethos-U"},
        "macOS": {"Core ML", "Metal Performance Shaders", "XNNPACK"},
        "Windows": {"XNNPACK", "OpenVINO"},
        "embedded": {"Cadence", "Arm Ethos-U", "NXP eIQ Neutron"},
        "Android": {"XNNPACK", "Vulkan", "Qualcomm", "MediaTek", "Arm VGF", "Samsung Exynos"},
        "iOS": {"Core ML", "Metal Performance Shaders", "XNNPACK"},
    }
    rows = rows_of_platforms()
    manifests = {manifest["title"]: manifest["verified"] for manifest in read_all(ROOT)}
    for platform, titles in documented.items():
        tried = {title for title, verified in manifests.items() if platform.lower() in verified}
        assert {name for name, _ in rows[platform]} == titles | tried
    assert list(rows) == ["Linux", "macOS", "Windows", "Android", "iOS", "embedded"]
    for platform, cells in rows.items():
        for name, state in cells:
            expected = "not here"
            if name in manifests:
                undeclared = {"text": "not built for this platform"}
                expected = manifests[name].get(platform.lower(), undeclared)["text"]
            assert state == expected, (platform, name)


def test_plat07_plat08_the_pages_of_boards_and_desktops() -> None:
    """PLAT-07: the runtime's reference, and tutorials. PLAT-08: C++, building, backends, cross-compiling."""
    embedded, desktop = section(PLATFORMS, "Embedded systems"), section(PLATFORMS, "Desktops and servers")
    tutorials = {"../examples/cortex_m/README.md", "raspberry_pi.md", "../examples/pico2/README.md"}
    assert {"runtime.md#without-a-heap", "cpp.md", *tutorials} <= set(LINK.findall(embedded))
    assert "`scripts/api_reference`" in embedded and (ROOT / "scripts" / "api_reference").exists()
    assert {"cpp.md", "building.md", "backends.md", "raspberry_pi.md"} <= set(LINK.findall(desktop))


def test_the_steps_and_files_of_the_platforms_exist() -> None:
    check_commands(PLATFORMS)


def check_commands(text: str) -> None:
    """Every `path` and every step of `scripts/test.sh` that a page names."""
    steps = set(subprocess.run([ROOT / "scripts/test.sh", "--list"], capture_output=True, text=True).stdout.split())
    for command in re.findall(r"`([^`\s]+/[^`]+|scripts/[^`]+)`", text):
        words = command.split()
        if words[0].partition("/")[0] in {path.name for path in ROOT.iterdir()}:
            assert (ROOT / words[0]).exists(), command
        if words[0] == "scripts/test.sh":
            assert set(words[1:]) <= steps, command


def test_every_point_of_the_ecosystem_has_a_state() -> None:
    """58 points in order. *Yes* names what shows it; *partly* and *no* say what is missing."""
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| (yes|partly|no) \| ([^|]*) \|$", ECOSYSTEM, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 59))
    for number, _, state, shown in rows:
        assert len(shown) > 3, number
        if state == "yes":
            assert "`" in shown or LINK.search(shown), number
    # The list above the tables: how many rows have each state, and what the incomplete ones need.
    states = [state for *_, state, _ in rows]
    counts = f"{states.count('yes')} hold, {states.count('partly')} hold in part, {states.count('no')} not at all"
    assert counts in ECOSYSTEM
    named = re.findall(r"\b\d+\b", " ".join(re.findall(r"\(([\d, ]+)\)", ECOSYSTEM.partition("\n## ")[0])))
    assert {number for number, _, state, _ in rows if state != "yes"} == set(named)
    check_commands(ECOSYSTEM)


def test_eco01_projects_around_the_original() -> None:
    """ECO-01: the page says which part of each project works here. ECO-08: the success stories are the original's."""
    text = section(ECOSYSTEM, "Projects around ExecuTorch")
    for name in (
        *("Hugging Face Transformers", "React Native ExecuTorch", "torchao", "Unsloth", "Ultralytics"),
        *("Arm ML Embedded Evaluation Kit", "Alif Ensemble", "Digica"),
    ):
        assert f"| {name}" in text or f", {name}" in text, name
    assert "success-stories.html" in text and "Nobody ships an application" in text
