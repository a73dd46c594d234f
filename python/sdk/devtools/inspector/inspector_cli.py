# SPDX-License-Identifier: BSD-3-Clause
"""`python -m sdk.devtools.inspector.inspector_cli --etdump_path model.etdp`: the table of an ETDump."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from sdk.command import CommandError, check_writable, existing, write_bytes
from sdk.command.tools import run_tool
from sdk.devtools.inspector._inspector import Inspector
from sdk.devtools.inspector._time_scale import TimeScale
from sdk.util.paths import file_path


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints or writes the table. Returns 0, or 1 after one line on stderr if a file cannot be read."""
    units = [scale.value for scale in TimeScale]
    parser = argparse.ArgumentParser(
        prog="python -m sdk.devtools.inspector.inspector_cli",
        description="Prints the events of an ETDump with their times.",
    )
    parser.add_argument("--etdump_path", type=file_path, required=True, help="the ETDump of the runtime (.etdp)")
    parser.add_argument("--etrecord_path", type=file_path, help="the program's ETRecord: shows the model's operators")
    parser.add_argument("--debug_buffer_path", type=file_path, help="the file of recorded tensors")
    parser.add_argument("--source_time_scale", choices=units, default="ns", help="the unit of the device's ticks")
    parser.add_argument("--target_time_scale", choices=units, default="ms", help="the unit of the times shown")
    parser.add_argument("--tsv_path", type=file_path, help="write the table to this file, with tabs between columns")
    parser.add_argument("--compare_results", action="store_true", help="compare recorded outputs with the ETRecord's")
    options = parser.parse_args(arguments)
    return run_tool(lambda: _show(options))


def _show(options: argparse.Namespace) -> None:
    for path in (options.etdump_path, options.etrecord_path, options.debug_buffer_path):
        if path is not None:
            existing(path)
    if options.compare_results and (options.etrecord_path is None or options.debug_buffer_path is None):
        raise CommandError(
            "--compare_results compares recorded outputs with those of an ETRecord: pass --etrecord_path and "
            "--debug_buffer_path"
        )
    if options.tsv_path is not None:
        check_writable([options.tsv_path])
    inspector = Inspector(
        etdump_path=options.etdump_path,
        etrecord=options.etrecord_path,
        source_time_scale=TimeScale(options.source_time_scale),
        target_time_scale=TimeScale(options.target_time_scale),
        debug_buffer_path=options.debug_buffer_path,
    )
    if options.tsv_path is not None:
        table = io.StringIO()
        inspector.save_data_to_tsv(table)
        write_bytes(options.tsv_path, table.getvalue().encode())
    else:
        inspector.print_data_tabular()
    if options.compare_results:
        _compare(inspector)


def _compare(inspector: Inspector) -> None:
    from sdk.devtools.inspector._compare_results import compare_results

    for block in inspector.event_blocks:
        if block.name == "Execute" and block.run_output and block.reference_output:
            where = "" if block.bundled_input_index is None else f" of case {block.bundled_input_index}"
            for name, values in compare_results(block.reference_output, block.run_output).items():
                print(f"{name}{where}: {', '.join(f'{value:g}' for value in values)}")


if __name__ == "__main__":
    sys.exit(main())
