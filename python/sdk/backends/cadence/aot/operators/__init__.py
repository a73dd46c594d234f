# SPDX-License-Identifier: BSD-3-Clause
"""The operators `cadence::*`: for each its schema, what it computes and the shape of its result."""
