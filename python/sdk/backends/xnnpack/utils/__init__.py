# SPDX-License-Identifier: BSD-3-Clause
"""The original's names of functions for lowering to XNNPACK step by step."""
