# SPDX-License-Identifier: BSD-3-Clause
"""Single operators: what the compiler knows of PyTorch's, those that it registers itself, and their out variants."""
