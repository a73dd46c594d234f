# SPDX-License-Identifier: BSD-3-Clause
"""The names of `portable_lib`, for code that loads programs for the runtime over `at::Tensor`.

The original's module of this name runs PyTorch's kernels. This module is the same runtime, with the same kernels, as
`portable_lib`: programs give the same results, and no second extension module is loaded.
"""

from __future__ import annotations

from sdk.extension.pybindings import portable_lib as _portable_lib
from sdk.extension.pybindings.portable_lib import *  # noqa: F403

__all__ = list(_portable_lib.__all__)
