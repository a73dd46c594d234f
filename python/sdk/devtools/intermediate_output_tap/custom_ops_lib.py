# SPDX-License-Identifier: BSD-3-Clause
"""The operator that marks a tapped value. No backend knows it, so none delegates it, and the runtime has no kernel
of it: `strip_taps_` replaces it."""

from __future__ import annotations

import torch

from sdk.devtools.intermediate_output_tap._reducers import get_reducer

lib = torch.library.Library("executorch_devtools", "DEF")
lib.define("tap.Tensor(Tensor x, str reducer_name) -> Tensor")


@torch.library.impl(lib, "tap.Tensor", "CompositeExplicitAutograd")
def tap_tensor_impl(x: torch.Tensor, reducer_name: str) -> torch.Tensor:
    """Applies the reducer with this name to a tensor. The result has new memory."""
    found = get_reducer(reducer_name).eager(x)
    return found.clone() if found is x or found._is_view() else found
