# SPDX-License-Identifier: BSD-3-Clause
"""Names and numbers that several modules share."""

from __future__ import annotations

from typing import Final

import torch

QCOM_QNN_COMPILE_SPEC: Final = "qnn_compile_spec"
"""The key of the compile spec with the options."""

DEFAULT_EPS_8BIT: Final = 0.0001 / 255
"""The smallest scale of 8-bit activations."""
DEFAULT_EPS_16BIT: Final = 0.0001 / 65535
"""The smallest scale of 16-bit activations, and of weights with several scales."""
DEFAULT_EPS_FP32: Final = torch.finfo(torch.float32).eps
"""The smallest scale of observers that are given none."""
