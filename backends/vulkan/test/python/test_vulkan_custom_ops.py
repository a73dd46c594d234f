# SPDX-License-Identifier: BSD-3-Clause
"""`torch.ops.et_vk` in eager PyTorch, with results that the caller gives."""

from __future__ import annotations

import pytest
import torch

import sdk.backends.vulkan.custom_ops_lib  # noqa: F401 (its operators)

et_vk = torch.ops.et_vk


def test_results_are_written_to_out() -> None:
    """Both operators return `out`, which is resized."""
    x, weight = torch.randn(1, 3, 6, 5), torch.randn(4, 3, 3, 3)
    arguments = (x, weight, None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1, -0.5, 0.75)
    out = torch.empty(0)
    assert et_vk.conv_with_clamp.out(*arguments, out=out) is out
    assert torch.equal(out, torch.conv2d(x, weight, None, 2, 1).clamp(-0.5, 0.75))
    places = torch.empty(30, 2)
    assert et_vk.grid_priors_out(x, 8, 0.5, out=places) is places
    assert places[0].tolist() == [4, 4] and places[6].tolist() == [12, 12]
    assert torch.equal(places, et_vk.grid_priors(x, 8, 0.5))


def test_another_dtype_is_refused() -> None:
    """An `out` of another dtype is an error; the result is not converted."""
    with pytest.raises(TypeError, match=r"expected out to be torch\.float32, found torch\.int32"):
        et_vk.grid_priors_out(torch.zeros(1, 1, 2, 2), 8, 0.5, out=torch.empty(0, dtype=torch.int32))
