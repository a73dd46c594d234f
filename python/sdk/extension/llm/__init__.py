# SPDX-License-Identifier: BSD-3-Clause
"""Language models: exporting and running them."""
