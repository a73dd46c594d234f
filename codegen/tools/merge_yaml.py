# SPDX-License-Identifier: BSD-3-Clause
"""Merges two functions.yaml: ``python -m codegen.tools.merge_yaml --functions_yaml_path a --fallback_yaml_path b ...``.

Writes merged.yaml with every entry of the first file, and the entries of the fallback for operators that the first does
not have. Both files are checked first.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from ..functions_yaml import entries_of, load_document, merge_documents
from ..gen import write_if_changed
from ..schema import SchemaError


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m codegen.tools.merge_yaml",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--functions_yaml_path", "--functions-yaml-path", type=Path, required=True, metavar="FILE")
    parser.add_argument("--fallback_yaml_path", "--fallback-yaml-path", type=Path, metavar="FILE")
    parser.add_argument("--output_dir", "--output-dir", type=Path, required=True, metavar="FOLDER")
    options = parser.parse_args(arguments)
    try:
        documents = []
        for path in filter(None, (options.functions_yaml_path, options.fallback_yaml_path)):
            documents.append(load_document(path))
            entries_of(documents[-1], path)
        merged = merge_documents(documents[0], documents[1]) if len(documents) == 2 else documents[0]
        text = yaml.safe_dump(merged, width=120, sort_keys=False)
        write_if_changed(options.output_dir / "merged.yaml", text)
    except (SchemaError, OSError) as error:
        print(f"merge_yaml: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
