# SPDX-License-Identifier: BSD-3-Clause
"""Models that can be exported, under the names of ExecuTorch's examples."""
