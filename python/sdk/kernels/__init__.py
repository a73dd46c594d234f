# SPDX-License-Identifier: BSD-3-Clause
"""What an export needs to know about kernel libraries."""
