# SPDX-License-Identifier: BSD-3-Clause
"""What programs need to know of the kernels that will run them."""
