# SPDX-License-Identifier: BSD-3-Clause
"""The place of the modules `PyEnnWrapperAdaptor` and `PyGraphWrapperAdaptor`, which are compiled with Samsung's SDK
(backends/samsung/setup.md) and are part of no package."""
