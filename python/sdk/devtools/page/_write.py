# SPDX-License-Identifier: BSD-3-Clause
"""`write_page`: writes one HTML file with everything that is known about a program."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdk.devtools.page._data import embedded, graph_data
from sdk.devtools.page._instructions import graph_of_instructions
from sdk.devtools.page._program import MethodFile, ProgramFile, read_program
from sdk.devtools.page._sections import cards, memory_section, read_report, report_section, sizes_section
from sdk.exir._serialize._cord import Cord
from sdk.exir._serialize._files import write_atomically

if TYPE_CHECKING:
    from sdk.devtools.etrecord import ETRecord

_SCRIPTS = ("dom.js", "tree.js", "layout.js", "view.js", "details.js", "tables.js", "main.js")
_LAYOUT = "dagre.min.js"


class PageError(RuntimeError):
    """This installation of the package cannot make the page."""


def write_page(
    path: str | Path,
    out: str | Path,
    etdump: str | Path | None = None,
    etrecord: str | Path | None = None,
    *,
    debug_buffer: str | Path | None = None,
    report: str | Path | None = None,
    method: str | None = None,
    source_time_scale: str = "ns",
) -> None:
    """Writes one HTML page about a program: graph, times, memory plan, sizes, report and numeric gaps.

    The page needs no other file and no network, and executes nothing from the files.

    Args:
        path: The program, a `.pte` or `.bpte`.
        out: The page to write.
        etdump: The runtime's record of a run. Adds times.
        etrecord: The exporter's record. Adds modules, source lines, and the operators inside delegates.
        debug_buffer: The recorded values of the ETDump. Adds, with the ETRecord, their difference from eager mode.
        report: The JSON file of `sdk export --report`. Adds the records of the export.
        method: The method of the ETDump; by default the only one, or the one that matches it.
        source_time_scale: The unit of the ETDump's ticks: ns, us, ms, s or cycles.

    Raises:
        ValueError: A file is damaged, of another kind, or of another program.
        RuntimeError: The ETRecord is damaged or of another kind.
        PageError: The package was built without the library that lays out the graph.
    """
    layout = _asset(_LAYOUT)
    if layout is None:
        raise PageError(
            "pages need the layout library dagre, which could not be fetched when this package was built: connect to "
            "the network (or set EXECUTORCH_THIRD_PARTY_MIRROR) and build it again, or install a released wheel"
        )
    program = read_program(Path(path))
    if method is not None and method not in program.methods:
        raise ValueError(f"{str(path)!r} has no method {method!r}; it has {', '.join(map(repr, program.methods))}")
    exported = None if report is None else read_report(Path(report))
    record = None
    if etrecord is not None:
        from sdk.devtools.etrecord import parse_etrecord

        record = parse_etrecord(etrecord)
    methods = _methods(program, etdump, record, debug_buffer, method, source_time_scale)
    for refusal in (exported or {"receipt": {"rows": []}})["receipt"]["rows"]:
        if refusal["refusals"] and refusal["method"] in methods:
            methods[refusal["method"]].setdefault("refusals", {})[refusal["node"]] = refusal["refusals"]
    data = {"file": program.path.name, "methods": list(methods.values()), "recorded": etrecord is not None}
    page = _html(program, data, exported, layout, _parts(program, record))
    write_atomically(Path(out), Cord(page.encode(errors="replace")))


def _parts(program: ProgramFile, record: ETRecord | None) -> dict[str, int]:
    """Returns the parts of the file in bytes. Weights are listed by name where the name is known."""
    from sdk.devtools.inspector._matching import programs_of
    from sdk.devtools.page._weights import named_parts

    programs = [] if record is None else [*programs_of(record).values(), record.exported_program]
    return named_parts(program.sizes, [found for found in programs if found is not None])


def _methods(
    program: ProgramFile,
    etdump: str | Path | None,
    record: ETRecord | None,
    debug_buffer: str | Path | None,
    method: str | None,
    scale: str,
) -> dict[str, dict[str, Any]]:
    """The graphs of the methods by name. The method of the ETDump has times and numeric gaps."""
    graphs = {name: _graph(file, record) for name, file in program.methods.items()}
    found = {name: graph_data(graph) for name, graph in graphs.items()}
    if etdump is None:
        if debug_buffer is not None:
            raise ValueError("recorded values belong to an ETDump: pass its path as etdump= too")
        return found
    from sdk.devtools.inspector import Inspector, TimeScale
    from sdk.devtools.page._times import gaps_of, times_of

    inspector = Inspector(
        etdump_path=str(etdump),
        etrecord=record,
        source_time_scale=TimeScale(scale),
        target_time_scale=TimeScale.CYCLES if scale == TimeScale.CYCLES.value else TimeScale.MS,
        debug_buffer_path=None if debug_buffer is None else str(debug_buffer),
        method_name=method if record is not None else None,
    )
    sources = inspector._sources
    ran = method or (sources.method if sources is not None else _only(program.methods))
    last = max((event._instruction_id or 0 for event in inspector.get_event_list()), default=0)
    if last >= program.methods[ran].instructions:
        raise ValueError(
            f"the ETDump is of another program: it has an instruction {last}, and method {ran!r} has "
            f"{program.methods[ran].instructions}. Pass the ETDump of this program"
        )
    found[ran]["times"] = times_of(inspector, graphs[ran])
    if debug_buffer is not None:
        found[ran]["gaps"] = gaps_of(inspector, graphs[ran])
    return found


def _only(methods: Mapping[str, MethodFile]) -> str:
    if len(methods) > 1:
        raise ValueError(
            f"the ETDump does not say which method it is of: pass method= as one of {', '.join(map(repr, methods))}"
        )
    return next(iter(methods))


def _graph(file: MethodFile, record: Any) -> Any:
    if record is not None:
        from sdk.devtools.inspector._matching import Sources
        from sdk.devtools.page._graph import graph_of_edge_program

        sources = Sources(record, file.name)
        if sources.program is not None:
            return graph_of_edge_program(file, sources, sources.program)
    return graph_of_instructions(file)


def _asset(name: str) -> str | None:
    file = resources.files("sdk.devtools.page").joinpath(name)
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _html(
    program: ProgramFile, data: dict[str, Any], report: dict[str, Any] | None, layout: str, sizes: dict[str, int]
) -> str:
    licence = (_asset("dagre.LICENSE") or "").strip()
    scripts = [
        f"/* dagre, https://github.com/dagrejs/dagre\n{licence}\n*/\n{layout}".replace("//# sourceMappingURL=", "// "),
        "(() => {\n'use strict';\n" + "\n".join(_asset(name) or "" for name in _SCRIPTS) + "\n})();",
    ]
    # The browser runs only scripts with these hashes, whatever else the page contains.
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {hashes}; base-uri 'none'"
    template = _asset("page.html") or ""
    parts = {
        "policy": escape(policy),
        "title": escape(program.path.name),
        "style": _asset("page.css") or "",
        "cards": cards(program),
        "memory": memory_section(program),
        "sizes": sizes_section(sizes, data["recorded"]),
        "report": report_section(program, report),
        "data": embedded(data),
        "layout": scripts[0],
        "script": scripts[1],
    }
    # Split the template first, so that placeholders in inserted text are not replaced.
    head, *rest = template.split("<!--{")
    pieces = [head]
    for piece in rest:
        name, after = piece.split("}-->", 1)
        pieces += [parts[name], after]
    return "".join(pieces)
