# SPDX-License-Identifier: BSD-3-Clause
"""Each of the documented developer tools has a page, to which the index of pages leads."""

from __future__ import annotations

import pytest
from coverage_page import ROOT

# The original's page, ours, and words that must be on it.
PAGES = {
    "bundled-io": ("bundled_programs.md", ["BundledProgram(", "MethodTestSuite", "verify"]),
    "etrecord": ("inspector.md", ["generate_etrecord=True", "get_etrecord()"]),
    "etdump": ("device_traces.md", ["ETDumpGen", "ETDump"]),
    "runtime-profiling": ("inspector.md", ["enable_etdump=True", "## Where the time goes"]),
    "model-debugging": ("debugging.md", ["python -m sdk.debug"]),
    "model-inspector": ("inspector.md", ["Inspector(", "print_data_tabular", "calculate_numeric_gap"]),
    "memory-planning-inspection": ("memory_planning.md", ["generate_memory_trace"]),
    "delegate-debugging": ("delegation.md", ["get_delegation_info", "debug handle map", "delegate_metadata_parser"]),
    "devtools-tutorial": ("debugging.md", ["## The order of steps"]),
    "visualization": ("page.md", ["visualize(", "visualize_with_clusters("]),
}


@pytest.mark.parametrize("topic", PAGES)
def test_dt_13_the_page_of_a_tool(topic: str) -> None:
    """DT-13: every topic of the original's developer tools."""
    name, texts = PAGES[topic]
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert [text for text in texts if text not in page] == []
    assert f"({name})" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert "(docs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_dt_14_the_order_in_which_to_look() -> None:
    """DT-14: the log, the kind of build and what was delegated, frequent questions, then the tools."""
    page = (ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## The order of steps\n")
    section = section.partition("\n## When")[0]
    places = [section.find(text) for text in ("ENABLE_LOGGING=ON", "release", "delegated", "messages", "eager mode")]
    assert -1 not in places and places == sorted(places)
