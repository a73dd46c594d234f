# SPDX-License-Identifier: BSD-3-Clause
"""torch.ops.preprocess.tile_crop: eager, exported and run. Expected tiles are cut by PyTorch's `unfold`."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from sdk.exir import to_edge
from sdk.extension.llm.custom_ops import op_tile_crop_aot, preprocess_custom_ops
from sdk.runtime import Runtime

tile_crop = torch.ops.preprocess.tile_crop


class Tiles(nn.Module):
    def forward(self, picture: Tensor) -> Tensor:
        return tile_crop(picture * 2, 4)


def cut(picture: Tensor, size: int) -> Tensor:
    tiles = picture.unfold(1, size, size).unfold(2, size, size)  # channels, rows, columns, size, size
    return tiles.flatten(1, 2).transpose(0, 1)


def picture(height: int, width: int, channels: int = 3) -> Tensor:
    return torch.arange(float(channels * height * width)).reshape(channels, height, width)


@pytest.mark.parametrize(("height", "width"), [(8, 8), (4, 12), (16, 8), (4, 4)])
def test_eager(height: int, width: int) -> None:
    given = picture(height, width)
    assert torch.equal(tile_crop(given, 4), cut(given, 4))
    out = torch.empty(0, dtype=torch.uint8)
    assert torch.equal(tile_crop.out(given.to(torch.uint8), 4, out=out), cut(given.to(torch.uint8), 4))
    assert out.shape == (height * width // 16, 3, 4, 4)


def test_programs_of_one_size() -> None:
    given = picture(16, 8)
    program = to_edge(export(Tiles(), (given,))).to_executorch()
    assert torch.equal(
        Runtime.get().load_program(program.buffer).load_method("forward").execute([given])[0], cut(given * 2, 4)
    )


def test_programs_of_any_size() -> None:
    """A picture of unknown size has at most `MAX_NUM_TILES` tiles."""
    height, width = Dim("height", min=1, max=4), Dim("width", min=1, max=4)
    program = export(Tiles(), (picture(8, 8),), dynamic_shapes=({1: 4 * height, 2: 4 * width},))
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    for shape in ((8, 8), (4, 16), (4, 4)):
        given = picture(*shape)
        assert torch.equal(method.execute([given])[0], cut(given * 2, 4))
    with pytest.raises(RuntimeError, match=r"tile_crop\.out"):
        method.execute([picture(16, 16)])


@pytest.mark.parametrize(
    ("given", "size", "message"),
    [
        (torch.zeros(4, 4), 4, r"expected \(channels, height, width\)"),
        (torch.zeros(1, 4, 6), 4, "has 4 x 6 pixels, and both must be multiples of the tile size 4"),
        (torch.zeros(1, 4, 4), 0, "tile_size is 0; it must be positive"),
    ],
)
def test_wrong_arguments_say_what_was_expected(given: Tensor, size: int, message: str) -> None:
    with pytest.raises((ValueError, RuntimeError), match=message):
        tile_crop(given, size)


def test_both_modules_have_the_names() -> None:
    assert preprocess_custom_ops.preprocess_op_lib.ns == "preprocess"
    assert op_tile_crop_aot.tile_crop is preprocess_custom_ops.tile_crop
    assert op_tile_crop_aot.MAX_NUM_TILES == 4
