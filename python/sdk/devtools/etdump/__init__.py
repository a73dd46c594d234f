# SPDX-License-Identifier: BSD-3-Clause
"""ETDumps: the events that the runtime recorded."""
