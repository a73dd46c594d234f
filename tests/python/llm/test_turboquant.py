# SPDX-License-Identifier: BSD-3-Clause
"""The 4-bit cache of TurboQuant."""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim, export

from sdk.exir import to_edge_transform_and_lower
from sdk.extension.llm.modules.turboquant import TurboQuantKVCache
from sdk.extension.llm.modules.turboquant.codebook import generate_rotation_matrix, solve_lloyd_max
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

HEADS, WIDTH, LENGTH = 2, 128, 32


def test_the_codebook_is_the_one_of_least_error() -> None:
    """Each number of the codebook is the mean of its interval of a normal distribution that ends at 3 standard
    deviations. Near zero, the numbers for 16 codes are close to those of Max (1960), whose distribution has no end.
    With 1 bit, the number is the mean of one half of the distribution."""
    numbers, boundaries = solve_lloyd_max(WIDTH, 4)
    torch.testing.assert_close(numbers[8:10] * WIDTH**0.5, torch.tensor([0.1284, 0.3881]), atol=0.02, rtol=0.0)
    torch.testing.assert_close(numbers, -numbers.flip(0))
    torch.testing.assert_close(boundaries, (numbers[1:] + numbers[:-1]) / 2)
    torch.manual_seed(0)
    elements = torch.randn(1_000_000) / WIDTH**0.5
    elements = elements[elements.abs() < 3 / WIDTH**0.5]
    codes = torch.bucketize(elements, boundaries)
    means = torch.stack([elements[codes == code].mean() for code in range(16)])
    torch.testing.assert_close(numbers, means, atol=8e-4, rtol=0.0)
    one, _ = solve_lloyd_max(1, 1)
    assert abs(float(one[1]) - 0.7979 * (1 - 0.0111) / 0.9973) < 1e-3


def test_the_rotation_is_orthogonal() -> None:
    rotation = generate_rotation_matrix(WIDTH)
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(WIDTH), atol=1e-5, rtol=0.0)
    assert torch.equal(rotation, generate_rotation_matrix(WIDTH, seed=42))
    assert not torch.equal(rotation, generate_rotation_matrix(WIDTH, seed=1))


def _error(found: torch.Tensor, given: torch.Tensor) -> float:
    return float((found - given.float()).norm() / given.float().norm())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_written_is_read(dtype: torch.dtype) -> None:
    """The relative error of 16 codes is 0.1 (Max: a mean squared error of 0.0095), for vectors of any length."""
    torch.manual_seed(0)
    cache = TurboQuantKVCache(HEADS, WIDTH, LENGTH)
    first, second = (torch.randn(1, HEADS, 10, WIDTH) * torch.rand(1, HEADS, 10, 1) * 50 for _ in range(2))
    cache.update(torch.arange(10), first.to(dtype), second.to(dtype))
    k, k_norms, v, v_norms = cache(torch.arange(10, 20), second.to(dtype), first.to(dtype))
    assert k.shape == v.shape == (1, HEADS, LENGTH, WIDTH // 2) and k.dtype == torch.uint8
    keys, values = cache.dequantized(k, k_norms), cache.dequantized(v, v_norms)
    assert 0.08 < _error(keys[:, :, :20], torch.cat((first, second), 2)) < 0.11
    assert 0.08 < _error(values[:, :, :20], torch.cat((second, first), 2)) < 0.11
    assert not k[:, :, 20:].any() and not keys[:, :, 20:].any()


def test_a_program_keeps_its_cache() -> None:
    """The program accepts any number of tokens. The runtime's codes equal eager's, except for elements at a
    boundary."""
    torch.manual_seed(0)
    cache, eager = TurboQuantKVCache(HEADS, WIDTH, LENGTH), TurboQuantKVCache(HEADS, WIDTH, LENGTH)
    tokens = Dim("tokens", min=1, max=LENGTH - 1)
    example = (torch.arange(2), torch.randn(1, HEADS, 2, WIDTH), torch.randn(1, HEADS, 2, WIDTH))
    program = export(cache, example, dynamic_shapes=({0: tokens}, {2: tokens}, {2: tokens}), strict=True)
    loaded = _load_for_executorch_from_buffer(to_edge_transform_and_lower(program).to_executorch().buffer)
    for begin, end in ((0, 3), (3, 4)):
        call = torch.arange(begin, end), *(torch.randn(1, HEADS, end - begin, WIDTH) for _ in range(2))
        found, expected = loaded.forward(call), eager(*call)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            same = (ours == theirs) if ours.dtype == torch.uint8 else torch.isclose(ours, theirs, rtol=0.01)
            assert same.float().mean() > 0.99
        assert found[0][:, :, :end].any(-1).all() and not found[0][:, :, end:].any()


def test_wrong_sizes() -> None:
    with pytest.raises(ValueError, match="head_dim is 127; expected an even number"):
        TurboQuantKVCache(2, 127, 32)
    with pytest.raises(ValueError, match="bits is 3; expected 4"):
        TurboQuantKVCache(2, 128, 32, bits=3)
