# SPDX-License-Identifier: BSD-3-Clause
"""Models of one operator. Each module is a command that exports it, runs it and compares the result."""
