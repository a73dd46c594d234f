# SPDX-License-Identifier: BSD-3-Clause
"""The JSON of `python -m sdk.debug`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch.export import export

from sdk.debug.departures import Comparison
from sdk.debug.report import Result, as_json


def test_an_infinite_error_is_no_exact_match() -> None:
    """null is an exact match, so an infinite difference is written as text."""
    program = export(torch.nn.ReLU(), (torch.ones(2),))
    node = next(node for node in program.graph.nodes if node.op == "call_function")
    event: Any = SimpleNamespace(name="OPERATOR_CALL", delegate_backend_name=None, _instruction_id=0)
    found = torch.tensor([1.0, math.inf])
    compared = Comparison(node, event, torch.ones(2), found, math.inf, (1,), 1e-6, math.inf, True, ())
    result = Result(Path("a.pte"), "forward", "here", True, [compared], [math.inf, -math.inf], None)
    first = cast(dict[str, Any], json.loads(json.dumps(as_json(result), allow_nan=False)))
    assert first["first"]["error"] == first["first"]["rounding"] == "inf" == first["first"]["found"]
    assert [output["sqnr_db"] for output in first["outputs"]] == [None, "-inf"]
