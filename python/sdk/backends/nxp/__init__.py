# SPDX-License-Identifier: BSD-3-Clause
"""NXP's eIQ Neutron NPUs. The modules here have the names that they have in ExecuTorch; `neutron` has the rest. Nothing
imports NXP's SDK until a partition is compiled."""
