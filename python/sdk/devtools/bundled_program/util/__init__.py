# SPDX-License-Identifier: BSD-3-Clause
"""Makes bundled programs for tests."""
