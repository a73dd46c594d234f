# SPDX-License-Identifier: BSD-3-Clause
"""Tools that inspect programs and their runs."""

from __future__ import annotations

from sdk.extras import lazily

_WHERE = {
    "BundledProgram": "sdk.devtools.bundled_program.core",
    "ETRecord": "sdk.devtools.etrecord",
    "Inspector": "sdk.devtools.inspector",
    "generate_etrecord": "sdk.devtools.etrecord",
    "parse_etrecord": "sdk.devtools.etrecord",
}

__all__ = sorted(_WHERE)
__getattr__ = lazily(globals(), _WHERE)
