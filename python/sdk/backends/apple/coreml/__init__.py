# SPDX-License-Identifier: BSD-3-Clause
"""Core ML: programs for the CPU, the GPU and the Neural Engine of Apple's chips."""
