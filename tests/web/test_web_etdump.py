# SPDX-License-Identifier: BSD-3-Clause
"""The Inspector reads the record that a page makes of a run."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

from web_pages import ROOT, needs_package

from sdk.devtools import Inspector
from sdk.devtools.inspector import TimeScale

pytestmark = needs_package

RUN = """
import { et, read } from %s;
const { performance } = globalThis;
const module = await et.Module.load(read("at_once/portable.pte"), { etdump: true, worker: false, threads: 1 });
const image = et.Tensor.zeros([1, 3, 64, 64]);
await module.forward(image);
await module.etdump();
const start = performance.now();
await module.forward(image);
const passed = performance.now() - start;
console.log(JSON.stringify({ passed, dump: Buffer.from(await module.etdump()).toString("base64") }));
process.exit();
"""


def test_times_in_an_etdump_are_those_that_passed(tmp_path: Path) -> None:
    code = RUN % json.dumps((ROOT / "sdk/web/test/support.mjs").as_uri())
    command = ["node", "--input-type=module", "-e", code]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    path = tmp_path / "run.etdump"
    path.write_bytes(base64.b64decode(found["dump"]))
    (block,) = Inspector(etdump_path=str(path), target_time_scale=TimeScale.MS).event_blocks
    times = {event.name: event.perf_data.raw for event in block.events if event.perf_data is not None}
    (whole,) = times["Method::execute"]
    operators = [event.perf_data.raw[0] for event in block.events if event.perf_data and event.name == "OPERATOR_CALL"]
    assert len(operators) > 5
    assert 0 < sum(operators) <= whole <= found["passed"]
    assert whole > found["passed"] / 10
