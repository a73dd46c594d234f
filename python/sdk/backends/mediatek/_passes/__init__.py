# SPDX-License-Identifier: BSD-3-Clause
"""The passes of the quantizer, under the names that they have in ExecuTorch."""
