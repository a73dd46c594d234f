# SPDX-License-Identifier: BSD-3-Clause
"""The operators that XNNPACK supports: for each, which calls it supports, and what they become in a payload."""
