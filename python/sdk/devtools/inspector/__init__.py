# SPDX-License-Identifier: BSD-3-Clause
"""Shows the time and the results of a program's run, event by event.

    from sdk.devtools import Inspector

    inspector = Inspector(etdump_path="model.etdp", etrecord="model.etrecord")
    inspector.print_data_tabular()

Parts of this package are useful without the class: `sdk.devtools.etdump.serialize`
reads the file, `_blocks` groups its events, `_matching` finds their nodes in an ETRecord.
"""

from __future__ import annotations

from sdk.devtools.inspector._compare_results import compare_results
from sdk.devtools.inspector._inspector import Event, EventBlock, Inspector, PerfData, TimeScale

__all__ = ["Event", "EventBlock", "Inspector", "PerfData", "TimeScale", "compare_results"]
