# SPDX-License-Identifier: BSD-3-Clause
"""What of a model is quantised, and how, so that XNNPACK runs it."""
