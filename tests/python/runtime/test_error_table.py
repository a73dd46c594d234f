# SPDX-License-Identifier: BSD-3-Clause
"""tests/data/errors.json: the same mistake gives the same error code and the same message in every language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from sdk.extension.pybindings.portable_lib import ExecuTorchError, _load_for_executorch_from_buffer

DATA = Path(__file__).resolve().parents[2] / "data"
TABLE = json.loads((DATA / "errors.json").read_text())


def _input(description: dict[str, Any]) -> Any:
    if description["type"] == "tensor":
        return torch.zeros(description["shape"], dtype=getattr(torch, description["dtype"]))
    return {"int": 0, "string": ""}[description["type"]]


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["case"])
def test_mistakes_have_their_code_and_words(case: dict[str, Any]) -> None:
    if "text" in case:
        program = case["text"].encode()
    else:
        program = (DATA / "corpus" / case["program"] / "model.pte").read_bytes()[: case.get("keep")]
    with pytest.raises(ExecuTorchError) as caught:
        module = _load_for_executorch_from_buffer(program)
        module.run_method(case["method"], [_input(item) for item in case["inputs"]])
    assert caught.value.error == case["error"]
    assert caught.value.code == TABLE["codes"][case["error"]]
    for word in case["words"]:
        assert word in str(caught.value)
