# SPDX-License-Identifier: BSD-3-Clause
"""What backends read of a graph: names and arguments of calls, shapes, and quantised values."""
