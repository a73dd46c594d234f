# SPDX-License-Identifier: BSD-3-Clause
"""ExecuTorch's names of functions for lowering to XNNPACK step by step."""
