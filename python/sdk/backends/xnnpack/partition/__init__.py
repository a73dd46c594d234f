# SPDX-License-Identifier: BSD-3-Clause
"""What XNNPACK takes of a model."""
