# SPDX-License-Identifier: BSD-3-Clause
"""Qualcomm's AI Engine Direct, or QNN. The modules here have the names that they have in ExecuTorch; `qnn` has the
rest. Nothing imports or downloads Qualcomm's SDK."""
