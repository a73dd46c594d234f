# SPDX-License-Identifier: BSD-3-Clause
"""Single operators: properties of PyTorch's operators, the operators that the compiler registers, and out variants."""
