# SPDX-License-Identifier: BSD-3-Clause
"""Properties of the kernels that programs for Cortex-M depend on."""
