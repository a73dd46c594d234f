# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that read graphs for backends: names and arguments of calls, shapes, and quantised values."""
