# SPDX-License-Identifier: BSD-3-Clause
"""How many bytes the weights and the delegates of a program have."""
