# SPDX-License-Identifier: BSD-3-Clause
"""Reads the records of a run of `cadence_runner`: results, times and intermediate tensors."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch

# Both register operators that ETRecords have.
import torch.ao.quantization.fx._decomposed

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401
from sdk.devtools import Inspector
from sdk.devtools.inspector import Event, EventBlock, TimeScale

_logger = logging.getLogger(__name__)


class CadenceETDump:
    """Reads `etdump.etdp` of a folder, and `etrecord.bin` and `debug_output.bin` if they exist."""

    def __init__(self, output_dir: str) -> None:
        folder = Path(output_dir)
        self.tensor_dump_dir = str(folder / "tensors")
        self.etdump_path = str(folder / "etdump.etdp")
        if not Path(self.etdump_path).exists():
            raise RuntimeError(
                f"expected {self.etdump_path}, found none; cadence_runner writes it if it is built with "
                "EXECUTORCH_ENABLE_EVENT_TRACER=ON"
            )
        self.etrecord_path = self._optional(folder / "etrecord.bin", "nodes are unknown, and tensors are not written")
        self.debug_buffer_path = self._optional(folder / "debug_output.bin", "results are unknown")
        # The time is that of the platform's clock, which only the platform can convert.
        self.et_inspector = Inspector(
            etdump_path=self.etdump_path,
            debug_buffer_path=self.debug_buffer_path,
            etrecord=self.etrecord_path,
            source_time_scale=TimeScale.CYCLES,
            target_time_scale=TimeScale.CYCLES,
        )

    @staticmethod
    def _optional(path: Path, without: str) -> str | None:
        if path.exists():
            return str(path)
        _logger.warning("%s is missing: %s", path, without)
        return None

    def get_outputs(self, log_to_stdout: bool = False) -> Any:
        """Returns the results of the first run."""
        outputs = self.get_execute_event_block().run_output
        if log_to_stdout:
            print(outputs)
        return outputs

    def get_execute_event_block(self) -> EventBlock:
        """Returns the events of the first run."""
        blocks = [block for block in self.et_inspector.event_blocks if block.name == "Execute"]
        if not blocks:
            names = [block.name for block in self.et_inspector.event_blocks]
            raise RuntimeError(f"{self.etdump_path}: expected events of a run ('Execute'), found {names}")
        if len(blocks) > 1:
            _logger.warning("%s has %d runs; the first is read", self.etdump_path, len(blocks))
        return blocks[0]

    def should_include_event(self, event: Event) -> bool:
        """Returns whether an event measures a kernel, and not the calls around it."""
        return event.name not in ("OPERATOR_CALL", "Method::execute")

    def print_summary(self, bundled_prog_size: int | None = None, external_link: str | None = None) -> None:
        """Logs how much of the run's time its operators take."""
        events = self.get_execute_event_block().events
        whole = [self._time(event) for event in events if event.name == "Method::execute"]
        if len(whole) != 1:
            raise RuntimeError(f"{self.etdump_path}: expected one event 'Method::execute', found {len(whole)}")
        operators = sum(self._time(event) for event in events if self.should_include_event(event))
        other = whole[0] - operators
        lines = [
            f"Total cycles:         {whole[0]:,.0f}",
            f"Cycles in operators:  {operators:,.0f}",
            f"Other cycles:         {other:,.0f} ({other / whole[0] if whole[0] else 0:.2%})",
        ]
        if bundled_prog_size is not None:
            lines.append(f"Bundled program size: {bundled_prog_size:,} bytes")
        if external_link is not None:
            lines.append(f"Link:                 {external_link}")
        _logger.info("Time, in cycles of the platform's clock:\n%s", "\n".join(lines))

    @staticmethod
    def _time(event: Event) -> float:
        return float(event.perf_data.avg) if event.perf_data is not None else 0.0

    def print_event_block(self) -> None:
        """Prints the table of events if this logger is at level INFO."""
        if _logger.isEnabledFor(logging.INFO):
            self.et_inspector.print_data_tabular()

    def dump_intermediate_tensors(self) -> None:
        """Writes the tensors that each instruction recorded to `tensors/INSTRUCTION.txt`."""
        if self.etrecord_path is None:
            _logger.warning("No tensors are written without an ETRecord")
            return
        Path(self.tensor_dump_dir).mkdir(parents=True, exist_ok=True)
        with torch._tensor_str.printoptions(profile="full"):
            for event in self.get_execute_event_block().events:
                if event.name != "OPERATOR_CALL" and event.debug_data:
                    text = "".join(f"{value}\n\n" for value in event.debug_data)
                    Path(self.tensor_dump_dir, f"{event._instruction_id}.txt").write_text(text)
