# SPDX-License-Identifier: BSD-3-Clause
"""The public API of the Swift package changes only on purpose, and its documentation links to what exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

IOS = Path(__file__).resolve().parents[3] / "sdk/ios"
sys.path.insert(0, str(IOS))

import public_names  # noqa: E402

modules = pytest.mark.parametrize("module", public_names.MODULES)


@modules
def test_the_public_names_are_those_of_the_snapshot(module: str) -> None:
    printed = subprocess.run([IOS / "public_names.py", module], capture_output=True, text=True, check=True).stdout
    hint = "the public API changed: if that is intended, run sdk/ios/public_names.py --update"
    assert printed and printed == (IOS / f"api/{module}.txt").read_text(), hint


def test_every_kind_of_declaration_is_found() -> None:
    source = """
    /// public func in_a_comment()
    public final class Net<T: Scalar>: Base, Sendable {
      public let name: String = "public var inside { a text }"
      public static let shared = Net(path: "a", sizes: [1])
      var hidden = 1
      public private(set) var count: Int { get { 1 } }
      public init(
        path: String, sizes: [Int] = [1, 2], mode: Mode = .make(1), log: Bool = true
      ) throws {
        func inner() {}
      }
      @discardableResult
      public static func == (lhs: Net, rhs: Net)
        -> Bool { lhs === rhs }
      public enum Mode {
        case fast, slow
        case other(Int)
      }
      enum Hidden { case none }
    }
    extension Net where T == Int {
      public subscript(index: Int) -> Int { index }
      public typealias Index = Int
    }
    """
    assert list(public_names.public_names(source)) == [
        "public final class Net<T: Scalar>: Base, Sendable",
        "Net: public let name: String",
        "Net: public static let shared",
        "Net: public private(set) var count: Int",
        "Net: public init(path: String, sizes: [Int], mode: Mode, log: Bool) throws",
        "Net: public static func == (lhs: Net, rhs: Net) -> Bool",
        "Net: public enum Mode",
        "Net.Mode: case fast, slow",
        "Net.Mode: case other(Int)",
        "Net: public subscript(index: Int) -> Int",
        "Net: public typealias Index = Int",
    ]


def _documented_paths(module: str) -> set[str]:
    """DocC's paths of the public declarations, such as `Module/execute(_:_:)`."""
    paths = set()
    for line in (IOS / f"api/{module}.txt").read_text().splitlines():
        outer, declaration = re.fullmatch(r"(?:([\w.]+): )?((?:public|open|case) .*)", line).groups()
        name = re.search(
            r"\b(?:class|struct|enum|protocol|func|let|var|case|typealias) (\w+|`\w+`)|\binit\b", declaration
        )
        if name is None:
            continue
        path = (name[1] or "init").strip("`")
        if re.search(r"\b(?:func|init)\b", name[0]):
            path += f"({_labels(declaration[name.end() :])})"
        paths.add(f"{outer.replace('.', '/')}/{path}" if outer else path)
    return paths


def _labels(signature: str) -> str:
    """`<T>(_ a: (Int) -> T, b: Int) throws` -> `_:b:`."""
    depth, labels, at_start = 0, "", False
    for at, letter in enumerate(signature):
        if letter in "([":
            depth += 1
            at_start = depth == 1
        elif letter in ")]":
            depth -= 1
            if depth == 0:
                break
        elif letter == "," and depth == 1:
            at_start = True
        elif at_start and letter != " ":
            labels += re.match(r"\w+", signature[at:])[0] + ":"
            at_start = False
    return labels


def test_paths_have_the_labels_of_parameters() -> None:
    paths = _documented_paths("ExecuTorch")
    assert {"Module/forward(_:)", "Tensor/withUnsafeBytes(_:)", "ValueTag/optionalTensorList", "Value/tag"} <= paths


@modules
def test_the_documentation_links_to_public_declarations(module: str) -> None:
    paths = _documented_paths(module)
    page = (IOS / f"Sources/{module}/{module}.docc/{module}.md").read_text()
    links = re.findall(r"(?<!`)``([^`\n]+)``(?!`)", page.partition("\n")[2])
    assert links and set(links) <= paths, set(links) - paths
    # Every top-level declaration is among the topics.
    topics = re.findall(r"^- ``([^`]+)``$", page, re.M)
    assert sorted(topics) == sorted(path for path in paths if "/" not in path)
    for source in (IOS / "Sources" / module).glob("*.swift"):
        # In a comment, a link may be relative to the enclosing type.
        for link in re.findall(r"``([^`]+)``", source.read_text()):
            assert any(path == link or path.endswith(f"/{link}") for path in paths), f"{source.name}: {link}"
