# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the parts of a model that are quantised for XNNPACK, and their configuration."""
