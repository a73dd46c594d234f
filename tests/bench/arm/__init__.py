# SPDX-License-Identifier: BSD-3-Clause
"""Instructions and modelled cycles of a call on emulated Arm processors: what `scripts/bench --arm` measures."""
