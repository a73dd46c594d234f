# SPDX-License-Identifier: BSD-3-Clause
"""What an export must know of the kernel libraries."""
