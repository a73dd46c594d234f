# SPDX-License-Identifier: BSD-3-Clause
"""Quantises models for Vulkan with torchao's PT2E."""
