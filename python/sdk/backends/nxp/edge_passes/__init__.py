# SPDX-License-Identifier: BSD-3-Clause
"""Passes over edge programs, under the names that they have in ExecuTorch."""
