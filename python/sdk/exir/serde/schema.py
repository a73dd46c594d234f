# SPDX-License-Identifier: BSD-3-Clause
"""The dataclasses of serialised programs, which are PyTorch's: what `sdk.exir.save` writes and `load` reads."""

from torch._export.serde.schema import *  # noqa: F403
from torch._export.serde.schema import SCHEMA_VERSION, TREESPEC_VERSION

__all__ = ["SCHEMA_VERSION", "TREESPEC_VERSION"]
