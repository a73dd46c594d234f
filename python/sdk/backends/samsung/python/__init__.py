# SPDX-License-Identifier: BSD-3-Clause
"""The package for the modules `PyEnnWrapperAdaptor` and `PyGraphWrapperAdaptor`. Users compile them with Samsung's SDK
(backends/samsung/setup.md); no distribution contains them."""
