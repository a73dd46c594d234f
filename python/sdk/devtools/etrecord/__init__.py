# SPDX-License-Identifier: BSD-3-Clause
"""ETRecords: files with the graphs and debug maps of a program, which the developer tools read in addition to it."""

from __future__ import annotations

from sdk.devtools.etrecord._etrecord import generate_etrecord, parse_etrecord
from sdk.exir.record import ETRecord

__all__ = ["ETRecord", "generate_etrecord", "parse_etrecord"]
