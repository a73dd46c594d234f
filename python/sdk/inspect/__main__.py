# SPDX-License-Identifier: BSD-3-Clause
"""Show what is in a program, its data, a bundled program, an ETDump or an ETRecord."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sdk.command import (
    FAILED,
    OK,
    CommandError,
    Parser,
    check_writable,
    describe,
    existing,
    finish,
    print_json,
    write_bytes,
    write_json,
)
from sdk.command.arguments import count
from sdk.util.paths import file_path

_EPILOG = """\
examples
  What is in a program: methods, inputs and outputs, delegates, operators, memory, sizes.
    sdk inspect model.pte
  What changed between two exports:
    sdk inspect --diff before.pte after.pte
  Where the time of a run went, as a trace for https://ui.perfetto.dev and as a table for
  a pull request:
    sdk inspect --etdump model.etdp --etrecord model.etrecord --trace trace.json --markdown
  The models of a backend that are in a program, for its own tools:
    sdk inspect model.pte --models folder
  One page to look at, with the graph:
    sdk inspect model.pte --etdump model.etdp --etrecord model.etrecord --html model.html
"""

_UNITS = ("ns", "us", "ms", "s", "cycles")
_ROWS = 20
_OF_RUN = ("trace", "markdown", "top", "csv", "source_time_scale")
"""The options that need the ETDump of a run."""


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.inspect") -> int:
    """Shows a file; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "two files that --diff compares differ", _EPILOG)
    parser.add_argument(
        "file", nargs="?", type=file_path, help="a .pte, .ptd, .bpte, ETDump or ETRecord; its content says which"
    )
    parser.add_argument("--diff", nargs=2, type=file_path, metavar=("A", "B"), help="list what differs between two")
    parser.add_argument(
        "--models", type=file_path, metavar="DIR", help="write the models in the program's payloads, such as .mlpackage"
    )
    trace = parser.add_argument_group("what a run did")
    trace.add_argument("--etdump", type=file_path, help="the ETDump that the runtime wrote")
    trace.add_argument("--etrecord", type=file_path, help="its ETRecord: names operators and source lines")
    trace.add_argument("--source-time-scale", choices=_UNITS, help="the unit of the device's ticks (ns)")
    trace.add_argument(
        "--trace", type=file_path, metavar="OUT.json", help="write a trace for Perfetto or chrome://tracing"
    )
    trace.add_argument("--markdown", action="store_true", help="print a Markdown table of where the time went")
    trace.add_argument("--top", type=count(1), help="rows of that table, the slowest first (20)")
    trace.add_argument("--csv", type=file_path, metavar="OUT.csv", help="write the pandas frame of the events")
    page = parser.add_argument_group("one page to look at (docs/page.md)")
    page.add_argument("--html", type=file_path, metavar="OUT.html", help="the page: graph, times, memory plan, sizes")
    page.add_argument("--debug-buffer", type=file_path, help="the values that it recorded: adds the numeric gap")
    page.add_argument("--report", type=file_path, help="of `sdk export --report` (JSON): adds the export's records")
    page.add_argument("--method", help="the method of the ETDump, if the ETDump does not name it")
    return finish(parser, argv, _run)


def _run(options: argparse.Namespace) -> int:
    if options.diff:
        _check_alone(options)
        return _diff(options.diff[0], options.diff[1], options.json)
    _check_options(options)
    if options.html is not None:
        _page(options)
    shown: dict[str, Any] | None = None
    if options.file is not None:
        from sdk.inspect._facts import facts
        from sdk.inspect._kinds import kind_of

        if options.etdump is None and kind_of(existing(options.file)) == "etdump":
            options.etdump = options.file  # so that the options of --etdump apply to it
            if options.models is not None:
                raise CommandError("--models writes what is in a program (.pte), found an ETDump: pass the .pte")
        else:
            shown = facts(options.file, options.models)
    run = None if options.etdump is None else _dump(options)
    if options.json:
        print_json((shown or run or {}) if shown is None or run is None else {**shown, "etdump": run})
        return OK
    if shown is not None and not options.markdown:
        from sdk.inspect._text import text

        print(text(shown))
    return OK


def _check_alone(options: argparse.Namespace) -> None:
    """Raises CommandError if an option has no effect together with --diff."""
    given = [name for name, value in vars(options).items() if value and name not in ("diff", "json")]
    if given:
        names = ", ".join("a third file" if name == "file" else _spelled(name) for name in given)
        raise CommandError(f"--diff compares two files and takes only --json beside them, found {names}: leave it out")


def _spelled(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check_options(options: argparse.Namespace) -> None:
    if options.top is not None and not options.markdown:
        raise CommandError("--top is the number of rows of the table of --markdown: pass that too")
    if options.markdown and options.json:
        raise CommandError("--markdown and --json both choose what is printed: leave one out")
    if options.html is None and (options.debug_buffer or options.report or options.method):
        raise CommandError("--debug-buffer, --report and --method are for the page: pass --html OUT.html too")
    if options.html is not None and options.file is None:
        raise CommandError("--html shows a program, found none: pass the .pte")
    if options.models is not None and options.file is None:
        raise CommandError("--models writes what is in a program, found none: pass the .pte")
    if options.file is None and options.etdump is None:
        raise CommandError("expected a file, --etdump or --diff, found none: pass one")
    of_run = _OF_RUN if options.html is not None else (*_OF_RUN, "etrecord")
    if options.etdump is None and any(getattr(options, name) for name in of_run):
        from sdk.inspect._kinds import kind_of

        if options.file is None or kind_of(existing(options.file)) != "etdump":
            *names, last = map(_spelled, of_run)
            raise CommandError(f"{', '.join(names)} and {last} show a run: pass its ETDump with --etdump")


def _diff(first: Path, second: Path, as_json: bool) -> int:
    from sdk.inspect import _diff

    found = _diff.differences(first, second)
    if as_json:
        print_json({"a": str(first), "b": str(second), "differences": found})
    else:
        print(_diff.text(first, second, found))
    return FAILED if found else OK


def _dump(options: argparse.Namespace) -> dict[str, Any]:
    """Writes and prints what the options request. Returns the facts for `--json`."""
    from sdk.devtools.etrecord import parse_etrecord
    from sdk.devtools.inspector import TimeScale
    from sdk.inspect import _facts, _records

    path = existing(options.etdump)
    record = None if options.etrecord is None else _facts.read(existing(options.etrecord), "etrecord", parse_etrecord)
    scale = TimeScale(options.source_time_scale or "ns")
    inspector = _facts.read(path, "etdump", lambda dump: _records.inspector_of(dump, record, scale))
    if options.trace is not None:
        write_json(options.trace, _facts.read(path, "etdump", lambda _: inspector.trace_events()))
    if options.csv is not None:
        try:
            frame = inspector.to_dataframe()
        except ImportError as error:
            raise CommandError(f"--csv: {error}") from error
        write_bytes(options.csv, frame.to_csv(index=False).encode())
    facts = {"kind": "etdump", "path": str(path), "bytes": path.stat().st_size, **_records.dump_facts(inspector)}
    if options.markdown and not options.json:
        print(inspector.markdown(options.top or _ROWS), end="")
    elif not options.json:
        from sdk.inspect._text import text

        print(text(facts))
    return facts


def _page(options: argparse.Namespace) -> None:
    from sdk.command.tools import UNREADABLE
    from sdk.devtools.page import write_page

    check_writable([options.html])
    names = ("etdump", "etrecord", "debug_buffer", "report")
    files = {name: existing(path) for name in names if (path := getattr(options, name)) is not None}
    scale = options.source_time_scale or "ns"
    try:
        write_page(existing(options.file), options.html, method=options.method, source_time_scale=scale, **files)
    except UNREADABLE as error:
        raise CommandError(f"--html: {describe(error)}") from error


if __name__ == "__main__":
    sys.exit(main())
