# SPDX-License-Identifier: BSD-3-Clause
"""Samsung's NPUs and DSPs in Exynos chips, by the Exynos AI LiteCore SDK. Nothing here imports what needs the SDK until
a partition is compiled."""
