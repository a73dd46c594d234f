# SPDX-License-Identifier: BSD-3-Clause
"""The backend Neutron: its declaration, recipes, table of operators, graphs for NXP's converter, and interpreter."""
