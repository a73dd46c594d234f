// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import Foundation
import XCTest

/// Bundled programs, ETDumps, threads, and outputs that are lists.
final class DevtoolsTests: XCTestCase {
  private func bundle() -> Module { Module(bundledFilePath: Corpus.path("bundled", "model.bpte")) }
  private func ones() -> Tensor<Float> { Tensor<Float>.ones(shape: [2, 3]) }
  /// A file of tests/data outside of the corpus.
  static func data(_ file: String) -> String {
    Corpus.folder.deletingLastPathComponent().appendingPathComponent(file).path
  }

  func testEveryCaseOfABundledProgramGivesWhatItExpects() throws {
    let module = bundle()
    XCTAssertEqual(try module.bundledCaseCount(), 3)
    XCTAssertEqual(try Corpus.module("add").bundledCaseCount(), 0)
    for index in 0..<3 {
      XCTAssertEqual(try module.executeBundled(case: index).count, 1)
      try module.verifyBundled(case: index)
    }
  }

  func testACaseThatDiffersSaysSo() throws {
    let module = bundle()
    expectError(.invalidState, "case 0") { try module.verifyBundled(case: 0) }
    expectError(.invalidArgument, "3") { _ = try module.executeBundled(case: 3) }
    expectError(.invalidArgument, "-1") { _ = try module.executeBundled(case: -1) }
    _ = try module.executeBundled(case: 0)
    expectError(.invalidArgument, "tolerances") { try module.verifyBundled(case: 0, rtol: -1) }
    expectError(.notSupported, "bundled") { try Module(bundledFilePath: Corpus.path("add")).load() }
  }

  func testAnEtdumpIsGivenOfEveryRun() throws {
    let module = Corpus.module("add")
    _ = try module.forward(ones(), ones())
    guard let dump = try module.etdump() else {
      throw XCTSkip("this library was built without EXECUTORCH_ENABLE_EVENT_TRACER")
    }
    XCTAssertEqual(String(decoding: dump[8..<12], as: UTF8.self), "ED00")
    // The dump has the instruction, under the name of its operator, of every run since the last dump.
    XCTAssertNotNil(dump.range(of: Data("OPERATOR_CALL".utf8)))
    XCTAssertNil(try module.etdump(), "nothing ran since")
    for _ in 0..<3 { _ = try module.forward(ones(), ones()) }
    XCTAssertGreaterThan(try XCTUnwrap(module.etdump()).count, dump.count)
  }

  func testTheNumberOfThreads() throws {
    defer { try? Runtime.setThreadCount(0) }
    let module = Module(filePath: Corpus.path("add"), threadCount: 2)
    _ = try module.forward(ones(), ones())
    XCTAssertEqual(Runtime.threadCount, 2)
    try Runtime.setThreadCount(1)
    XCTAssertEqual(Runtime.threadCount, 1)
    expectError(.invalidArgument, "-1") { try Runtime.setThreadCount(-1) }
    expectError(.invalidArgument, "up to 1024") { try Runtime.setThreadCount(2000) }
  }

  func testOutputsCanBeLists() throws {
    let module = Module(filePath: DevtoolsTests.data("list_outputs.pte"))
    let outputs = try module.forward(ones(), ones())
    XCTAssertEqual(
      outputs.map { $0.tag }, [.tensorList, .optionalTensorList, .integerList, .doubleList, .booleanList])
  }
}
