# SPDX-License-Identifier: BSD-3-Clause
"""Selects what the Vulkan runtime computes."""
