# SPDX-License-Identifier: BSD-3-Clause
"""Version of the program schema that this package writes."""

from __future__ import annotations

# `Program.version`. Fields are only ever appended to the schema, so it has stayed 0 since the first release.
EXECUTORCH_SCHEMA_VERSION = 0
