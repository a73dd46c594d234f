# SPDX-License-Identifier: BSD-3-Clause
"""The suite runs on the runtime that SDK_PORTABLE_LIB names, if it is set."""

import runtime_under_test

runtime_under_test.load()
