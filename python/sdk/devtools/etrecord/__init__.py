# SPDX-License-Identifier: BSD-3-Clause
"""ETRecords: what the developer tools need to know about a program in addition to its file."""

from __future__ import annotations

from sdk.devtools.etrecord._etrecord import generate_etrecord, parse_etrecord
from sdk.exir.record import ETRecord

__all__ = ["ETRecord", "generate_etrecord", "parse_etrecord"]
