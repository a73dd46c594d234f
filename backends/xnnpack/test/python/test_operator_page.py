# SPDX-License-Identifier: BSD-3-Clause
"""docs/generated/xnnpack-operators.md agrees with the partitioner's configs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))

from xnnpack_operators import PAGE, page, reasons_of, row

from sdk.backends.xnnpack.operators.elementwise import SumConfig
from sdk.backends.xnnpack.operators.pools import MaxPoolConfig
from sdk.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS, XNNPartitionerConfig


def test_the_page_is_what_the_configs_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run scripts/pages and commit the page"


def test_each_operator_has_one_row() -> None:
    names = [name for cls in ALL_PARTITIONER_CONFIGS for name in cls.target_names]
    assert len(set(names)) == len(names)
    made = page()
    assert all(made.count(f"| `{name}` |") == 1 for name in names)


def test_reasons_are_the_texts_of_the_methods_and_of_those_they_ask() -> None:
    """The reasons include those of `max_pool2d` and those that all windows share."""
    reasons = set(reasons_of(MaxPoolConfig.refusal_of_call, MaxPoolConfig))
    assert {"its indices are used", "its window has one element"} <= reasons


def test_a_row_shows_what_an_operator_takes() -> None:
    cells = [cell.strip() for cell in row(SumConfig, "aten.add.Tensor").split("|")[1:-1]]
    assert cells[:3] == ["`aten.add.Tensor`", "float32, float16", "–"]
    assert "its scales are too far apart" in cells[3]
    assert cells[-1] == "alpha is …, and XNNPACK takes 1"


def test_a_config_of_an_application_has_a_row_too() -> None:
    class Twice(XNNPartitionerConfig):
        target_names = ("mine.twice.default",)
        takes_truth = True

        def refusal_of_call(self, node, program) -> str | None:
            return "it is not twice" if node.args else None

    assert (
        row(Twice, "mine.twice.default")
        == "| `mine.twice.default` | float32, float16, bool | – | no | – | both | it is not twice |"
    )
