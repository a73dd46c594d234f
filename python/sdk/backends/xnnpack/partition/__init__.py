# SPDX-License-Identifier: BSD-3-Clause
"""Decides which nodes of a model XNNPACK gets."""
