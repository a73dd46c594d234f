# SPDX-License-Identifier: BSD-3-Clause
"""What programs that lower to XNNPACK step by step call by these names."""
