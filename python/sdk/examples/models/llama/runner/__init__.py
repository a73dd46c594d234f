# SPDX-License-Identifier: BSD-3-Clause
"""Generates text in Python: `eager` runs the model in PyTorch, `native` runs a program. `sdk.extension.llm.runner` is
faster, and has chat templates."""
