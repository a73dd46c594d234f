# SPDX-License-Identifier: BSD-3-Clause
"""`neutron_quantizer` has `NeutronQuantizer`, `utils` has `calibrate_and_quantize`."""
