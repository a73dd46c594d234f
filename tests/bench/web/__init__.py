# SPDX-License-Identifier: BSD-3-Clause
"""This SDK's npm package beside other engines in WebAssembly, in one browser: `scripts/bench --web`."""
