# SPDX-License-Identifier: BSD-3-Clause
"""Selects the parts of a model that the Vulkan runtime computes."""
