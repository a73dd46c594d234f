# SPDX-License-Identifier: BSD-3-Clause
"""Names of the ways to pool the vectors of a text's tokens into one vector. Commands read them without PyTorch."""

from __future__ import annotations

POOLINGS = ("cls", "last", "max", "mean", "mean_sqrt_len", "weightedmean")
"""The vector of the first or last token, the largest numbers, the mean, the sum over the root of the number of tokens,
and the mean with weights 1, 2 and so on."""
