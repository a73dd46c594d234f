# SPDX-License-Identifier: BSD-3-Clause
"""A backend that multiplies float32 tensors, for firmware."""
