# SPDX-License-Identifier: BSD-3-Clause
"""Writes payloads of every operator, small ones, as seeds for fuzz_payload: `python fuzz_seeds.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[3] / "tests")]

from mps_cases import all_calls  # noqa: E402
from mps_lowering import lower_call  # noqa: E402


def main() -> None:
    for number, call in enumerate(all_calls()):
        payload = lower_call(call, False)
        if len(payload) < 4096:
            Path(sys.argv[1], f"seed_{number}").write_bytes(payload)


if __name__ == "__main__":
    main()
