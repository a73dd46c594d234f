# SPDX-License-Identifier: BSD-3-Clause
"""One HTML page about a program: its graph, times, memory plan, sizes, and the records of its export.

from sdk.devtools.page import write_page
write_page("model.pte", "model.html", etdump="model.etdp", etrecord="model.etrecord")

_program, _sections      the contents of the file: sizes, delegates, memory plan, operators
_graph, _instructions    the graph with an ETRecord, and without one
_times                   times and numeric gaps from an ETDump
_data                    the same as JSON for the script of the page
page.html, page.css      the page; *.js is its script, in the order of `_write._SCRIPTS`
dagre.min.js             lays out the graph; fetched when the package is built
"""

from sdk.devtools.page._write import PageError, write_page

__all__ = ["PageError", "write_page"]
