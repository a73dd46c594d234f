# SPDX-License-Identifier: BSD-3-Clause
"""What describes a target (`neutron_target_spec`) and changes what is delegated (`custom_delegation_options`)."""
