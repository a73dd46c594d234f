# SPDX-License-Identifier: BSD-3-Clause
"""This SDK's npm package beside other engines in WebAssembly, in one browser: `scripts/bench --web`."""

import sys

from bench.worker import ROOT

sys.path.insert(0, str(ROOT / "tests" / "web"))
