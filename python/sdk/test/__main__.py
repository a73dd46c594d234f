# SPDX-License-Identifier: BSD-3-Clause
"""Run the test cases of a bundled program on every runtime at hand."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sdk.command import FAILED, OK, CommandError, Parser, closest, finish, print_json
from sdk.command.arguments import count, number, seconds
from sdk.util.paths import file_path
from sdk.util.words import relative

if TYPE_CHECKING:
    from sdk.test._results import Result, Runtime

_EPILOG = """\
runtimes
  the Python module of this package, and programs `executor_runner`: the one that
  SDK_EXECUTOR_RUNNER names, the one in the build of this package, the one on the PATH, and
  those that --runner names. One for another machine is run by QEMU (qemu-aarch64, ...).

what is right
  the largest difference of an output is at most --tolerance of the output's largest
  magnitude: 1e-4 of float32, 1e-6 of float64, 1e-2 of float16, 5e-2 of bfloat16; other
  dtypes must be equal

examples
  sdk test model.bpte
  sdk test model.bpte --runner build/aarch64/executor_runner --tolerance 1e-3
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m sdk.test") -> int:
    """Tests a bundled program; returns the exit status."""
    parser = Parser(prog, __doc__ or "", "a case is wrong or failed, or no case ran", _EPILOG)
    parser.add_argument("model", type=file_path, help="a bundled program (.bpte)")
    parser.add_argument("--data", type=file_path, action="append", default=[], help="external data (.ptd); repeatable")
    parser.add_argument("--method", help="the method to test (all)")
    parser.add_argument("--case", type=count(0), help="the case to test (all)")
    parser.add_argument("--runner", type=file_path, action="append", default=[], help="an executor_runner; repeatable")
    parser.add_argument("--only-runners", action="store_true", help="leave out the Python module and found runners")
    parser.add_argument("--tolerance", type=number(0), help="allowed difference, relative to the output (by dtype)")
    parser.add_argument("--threads", type=count(1), help="threads of the Python module (one for each fast core)")
    parser.add_argument("--timeout", type=seconds, default=300.0, help="seconds for a case of a runner (300)")
    return finish(parser, argv, _run)


def _run(options: argparse.Namespace) -> int:
    from sdk.command.programs import is_bundle, set_threads

    if not is_bundle(options.model):
        raise CommandError(
            f"`{options.model}`: expected a bundled program (.bpte), found a program without test cases: make one with "
            "sdk.devtools.BundledProgram (docs/bundled_programs.md)"
        )
    if options.only_runners and not options.runner:
        raise CommandError("--only-runners: expected --runner with it, found none")
    if options.only_runners and options.threads is not None:
        raise CommandError("--threads: of the Python module, which --only-runners leaves out: leave one out")
    set_threads(options.threads)
    from sdk.test import _cases, _results, _runtimes

    bundle = _cases.read(options.model, options.data, options.method, options.case)
    known = bundle.load().method_names
    for case in bundle.cases:
        if case.method not in known:
            raise CommandError(
                f"`{options.model}`: expected cases of the program's methods ({', '.join(sorted(known))}), found those "
                f"of `{case.method}`: make the bundled program again.{closest(case.method, known)}"
            )
    runners = [_runtimes.Runner(path) for path in options.runner]
    tested: list[Runtime] = []
    if not options.only_runners:
        given = {runner.path.resolve() for runner in runners}
        runners += [runner for runner in _runtimes.find_runners() if runner.path not in given]
        in_python = [_runtimes.in_python(bundle, case, options.tolerance) for case in bundle.cases]
        tested.append(_results.Runtime("python", in_python))
    for runner in runners:
        results = [runner.run(bundle, case, options.tolerance, options.timeout) for case in bundle.cases]
        tested.append(_results.Runtime(runner.name, results))
    _print(options, tested)
    statuses = [result.status for one in tested for result in one.results]
    bad = {_results.WRONG, _results.FAILED} & set(statuses)
    return FAILED if bad or set(statuses) == {_results.NOT_RUN} else OK


def _print(options: argparse.Namespace, tested: Sequence[Runtime]) -> None:
    from sdk.test import _results

    every = (_results.RIGHT, _results.WRONG, _results.FAILED, _results.NOT_RUN, _results.RAN)
    totals = {status: sum(r.status == status for one in tested for r in one.results) for status in every}
    if options.json:
        runtimes = [{"name": one.name, "results": [result.facts() for result in one.results]} for one in tested]
        counts = {status.replace(" ", "_"): number for status, number in totals.items()}
        print_json({"model": str(options.model), "runtimes": runtimes, **counts})
        return
    from sdk.command.lines import columns, printable

    for one in tested:
        print(printable(one.name))
        rows = [(printable(r.method), f"case {r.case}", r.status, printable(_said(r))) for r in one.results]
        print("\n".join(columns(rows)))
    print(", ".join(f"{number} {status}" for status, number in totals.items() if number))


def _said(result: Result) -> str:
    if result.max_abs is None or result.max_rel is None:
        return result.reason
    numbers = f"largest difference {result.max_abs:.2g}, {relative(result.max_abs, result.max_rel)}"
    which = f"output {result.output}: " if result.outputs > 1 else ""
    return f"{which}{numbers} ({result.limit:g} allowed)" + (f"; {result.reason}" if result.reason else "")


if __name__ == "__main__":
    sys.exit(main())
