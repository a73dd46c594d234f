# SPDX-License-Identifier: BSD-3-Clause
"""The format of payloads."""
