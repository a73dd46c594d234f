# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's name of the module `sdk.exir.graph.fake`."""

from __future__ import annotations

from sdk.exir.graph.fake import get_fake_program, update_to_real_program

__all__ = ["get_fake_program", "update_to_real_program"]
