# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.export`."""

from __future__ import annotations

import sys

from sdk.export.cli import main

sys.exit(main())
