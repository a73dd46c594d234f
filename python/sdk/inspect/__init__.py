# SPDX-License-Identifier: BSD-3-Clause
"""Describes a program (.pte), data (.ptd), a bundled program (.bpte), an ETDump or an ETRecord.

    from sdk.inspect import facts
    facts(Path("model.pte"))["methods"]

`facts` returns what `sdk inspect FILE --json` prints. It executes nothing from the file.
"""

from __future__ import annotations

from sdk.inspect._facts import facts

__all__ = ["facts"]
