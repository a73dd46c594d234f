# SPDX-License-Identifier: BSD-3-Clause
"""The operators that XNNPACK supports: for each, the calls that it supports, and how a payload expresses them."""
