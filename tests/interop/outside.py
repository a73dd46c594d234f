# SPDX-License-Identifier: BSD-3-Clause
"""Counts delegates and the operators outside of them, in a program of this SDK or of the original."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any


def counted(manager: Any, seconds: float) -> dict[str, Any]:
    """The number of delegates of a lowered program, the operators outside of them, and the CPU time of the lowering."""
    nodes = [node for node in manager.exported_program().graph.nodes if node.op == "call_function"]
    names = Counter(str(getattr(node.target, "__name__", node.target)) for node in nodes)
    names.pop("getitem", None)
    return {"delegates": names.pop("executorch_call_delegate", 0), "left": dict(names), "seconds": seconds}


def write(manager: Any, seconds: float, file: Path) -> None:
    """Writes the counts of a program as JSON."""
    file.write_text(json.dumps(counted(manager, seconds)))


def compare(name: str, manager: Any, seconds: float, file: Path) -> None:
    """Prints the counts of a program and those of the original, which `file` contains. Raises AssertionError if the
    program has more delegates or more operators outside of them."""
    found, original = counted(manager, seconds), json.loads(file.read_text())
    for side, each in (("", found), ("the original: ", original)):
        outside = sum(each["left"].values())
        print(
            f"{name}: {side}{each['delegates']} delegates, {outside} operators outside {each['left']}, "
            f"{each['seconds']:.1f} s"
        )
    assert found["delegates"] <= original["delegates"]
    assert sum(found["left"].values()) <= sum(original["left"].values())
