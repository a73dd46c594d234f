# SPDX-License-Identifier: BSD-3-Clause
"""The operators that XNNPACK takes: for each, which calls, and what they become in a payload."""
