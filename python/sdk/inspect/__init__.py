# SPDX-License-Identifier: BSD-3-Clause
"""What is in a file: a program (.pte), data (.ptd), a bundled program (.bpte), an ETDump or an ETRecord.

    from sdk.inspect import facts
    facts(Path("model.pte"))["methods"]

`facts` returns what `sdk inspect FILE --json` prints. Nothing that a file contains is run.
"""

from __future__ import annotations

from sdk.inspect._facts import facts

__all__ = ["facts"]
