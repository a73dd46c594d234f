# SPDX-License-Identifier: BSD-3-Clause
"""Operators of language models: attention over a cache of keys and values."""
