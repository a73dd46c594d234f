# SPDX-License-Identifier: BSD-3-Clause
"""The target (`neutron_target_spec`), and options for delegation (`custom_delegation_options`)."""
