# SPDX-License-Identifier: BSD-3-Clause
"""A backend that adds float32 tensors."""
