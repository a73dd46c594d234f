# SPDX-License-Identifier: BSD-3-Clause
"""Sound as models take it."""
