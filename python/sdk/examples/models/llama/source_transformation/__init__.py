# SPDX-License-Identifier: BSD-3-Clause
"""Replacements for modules of a model under ExecuTorch's names."""
