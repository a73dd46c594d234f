# SPDX-License-Identifier: BSD-3-Clause
"""`sdk debug` of models whose inputs are dicts and lists of tensors, and keyword inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import export

from declared import default
from sdk.debug.__main__ import main
from sdk.devtools.inspector._inputs import flat_inputs
from sdk.exir import to_edge_transform_and_lower
from sdk.export.cli import main as export_command
from sdk.runtime import Runtime


class Nested(nn.Module):
    """Each input has another part in the result, so that an exchange changes it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, pair: dict[str, Tensor], parts: list[Tensor], *, scale: Tensor, shift: Tensor) -> Tensor:
        x = self.first(pair["left"]) - pair["right"]
        return self.second(x * scale + shift) + parts[0] - parts[1]

    @staticmethod
    def example_inputs() -> tuple[tuple[Any, ...], dict[str, Tensor]]:
        made = torch.Generator().manual_seed(6)
        pair = {"left": torch.randn(2, 8, generator=made), "right": torch.randn(2, 8, generator=made)}
        parts = [torch.randn(2, 4, generator=made) for _ in range(2)]
        return (pair, parts), {name: torch.randn(2, 8, generator=made) for name in ("scale", "shift")}


def turned_round(value: Any) -> Any:
    """The same inputs, with the keys of dicts in the opposite order."""
    if isinstance(value, dict):
        return {key: turned_round(value[key]) for key in reversed(value)}
    return type(value)(map(turned_round, value)) if isinstance(value, (tuple, list)) else value


def test_the_order_of_inputs() -> None:
    args, kwargs = Nested.example_inputs()
    program = export(Nested(), args, kwargs)
    pair, parts = args
    expected = [pair["left"], pair["right"], *parts, kwargs["scale"], kwargs["shift"]]
    for given in ((args, kwargs), turned_round((args, kwargs)), expected):
        found = flat_inputs(program, given, "x")
        assert all(a is b for a, b in zip(found, expected, strict=True))
    wrong: tuple[tuple[Any, str], ...] = (
        (({"left": 1, "rihgt": 2}, parts), r"x\[0\]: expected 'left', 'right', found 'left', 'rihgt'"),
        ((pair, parts[:1]), r"x\[1\]: expected 2 positional inputs or elements, found 1"),
        ((pair, {"a": 1}), r"x\[1\]: expected a list, found a dict"),
    )
    for given, message in wrong:
        with pytest.raises(ValueError, match=message):
            flat_inputs(program, (given, kwargs), "x")
    with pytest.raises(ValueError, match="x: expected 'scale', 'shift', found 'scale'"):
        flat_inputs(program, (args, {"scale": 1}), "x")
    plain = export(nn.Bilinear(3, 4, 2), (torch.ones(1, 3), torch.ones(1, 4)))
    named = {"input2": torch.zeros(1, 4), "input1": torch.zeros(1, 3)}
    assert [value.shape[1] for value in flat_inputs(plain, named, "x")] == [3, 4]
    with pytest.raises(ValueError, match="x: expected 2 positional inputs or elements, found 0"):
        flat_inputs(plain, {"input1": torch.zeros(1, 3)}, "x")


@pytest.mark.parametrize("delegated", [False, True], ids=["kernels", "default backend"])
def test_a_dump_of_nested_inputs(delegated: bool, tmp_path: Path) -> None:
    """The inputs of the user's file are recognised as those of the run, whatever the order of keys in them."""
    model, (args, kwargs) = Nested().eval(), Nested.example_inputs()
    partitioner = [default().make("partitioner")] if delegated else []
    program = to_edge_transform_and_lower(
        export(model, args, kwargs), partitioner=partitioner, generate_etrecord=True
    ).to_executorch()
    pte, record = tmp_path / "net.pte", tmp_path / "net.etrecord"
    program.save(pte)
    program.get_etrecord().save(record)
    other = torch.utils._pytree.tree_map(lambda value: value + 1, (args, kwargs))
    loaded = Runtime.get().load_program(pte, enable_etdump=True, debug_buffer_size=1 << 20)
    result = loaded.load_method("forward").execute(flat_inputs(export(model, args, kwargs), other, "x"))[0]
    torch.testing.assert_close(result, model(*other[0], **other[1]), rtol=1e-4, atol=1e-4)
    loaded.write_etdump_result_to_file(str(tmp_path / "net.etdp"), str(tmp_path / "net.bin"))
    torch.save(turned_round(other), tmp_path / "inputs.pt")
    of_device = ["--etdump", str(tmp_path / "net.etdp"), "--debug-buffer", str(tmp_path / "net.bin")]
    found = tmp_path / "found.json"
    for more in ([], of_device):
        arguments = [str(pte), "--etrecord", str(record), "--inputs", str(tmp_path / "inputs.pt"), *more]
        assert main([*arguments, "--json", str(found)]) == 0
        assert json.loads(found.read_text())["layers"]


def test_layers_of_a_quantised_model_with_nested_inputs(tmp_path: Path) -> None:
    """The float model's weights are found, so that each layer is measured as a whole."""
    pte, model, found = tmp_path / "net.pte", f"{__file__}:Nested", tmp_path / "found.json"
    assert export_command([model, "-o", str(pte), "--no-verify", "--quantize", "int8"]) == 0
    assert main([model, str(pte), "--json", str(found), "--", "--quantize", "int8"]) == 0
    losses = json.loads(found.read_text())["losses"]
    assert losses["note"] is None and losses["layers"]
