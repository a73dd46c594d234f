# SPDX-License-Identifier: BSD-3-Clause
"""The tokenizer that a program carries: its data, and the tokens that end a turn."""
