# SPDX-License-Identifier: BSD-3-Clause
"""The public API of the Swift package changes only on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

IOS = Path(__file__).resolve().parents[3] / "sdk/ios"
sys.path.insert(0, str(IOS))

import public_names  # noqa: E402


def test_the_public_names_are_those_of_the_snapshot() -> None:
    printed = subprocess.run([IOS / "public_names.py"], capture_output=True, text=True, check=True).stdout
    hint = "the public API changed: if that is meant, run sdk/ios/public_names.py --update"
    assert printed == (IOS / "api/ExecuTorch.txt").read_text(), hint


def test_every_kind_of_declaration_is_found() -> None:
    source = """
    /// public func in_a_comment()
    public final class Net<T: Scalar>: Base, Sendable {
      public let name: String = "public var inside { a text }"
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
        "Net: public private(set) var count: Int",
        "Net: public init(path: String, sizes: [Int], mode: Mode, log: Bool) throws",
        "Net: public static func == (lhs: Net, rhs: Net) -> Bool",
        "Net: public enum Mode",
        "Net.Mode: case fast, slow",
        "Net.Mode: case other(Int)",
        "Net: public subscript(index: Int) -> Int",
        "Net: public typealias Index = Int",
    ]
