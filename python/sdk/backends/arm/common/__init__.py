# SPDX-License-Identifier: BSD-3-Clause
"""What the backends of Arm share besides TOSA."""
