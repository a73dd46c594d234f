// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import Foundation
import XCTest

final class CorpusTests: XCTestCase {
  /// Every call of every program gives the outputs of PyTorch eager, on the backends that the program was lowered for.
  func testEveryProgramGivesWhatEagerGave() throws {
    let programs = try Corpus.programs()
    XCTAssertGreaterThan(programs.count, 50)
    XCTAssertEqual(programs, try Corpus.folders(), "a folder without a manifest would not be run")
    XCTAssertTrue(
      Runtime.backendNames.contains("XnnpackBackend"), "the library was built without EXECUTORCH_BUILD_XNNPACK")
    for (index, program) in programs.enumerated() {
      let manifest = try Corpus.manifest(program)
      XCTAssertFalse(manifest.calls.isEmpty, program)
      let module = Module(
        filePath: Corpus.path(program, manifest.pte), dataFilePaths: (manifest.ptd ?? []).map { Corpus.path(program, $0) },
        loadMode: index % 2 == 0 ? .file : .mmap)
      for call in manifest.calls {
        let inputs = try call.inputs.map { try $0.value(of: program) }
        let outputs = try module.execute(call.method, inputs)
        XCTAssertEqual(outputs.count, call.outputs.count, program)
        for (found, expected) in zip(outputs, call.outputs) {
          compare(found, try expected.value(of: program), program)
        }
      }
    }
  }

  func testAProgramWithoutItsBackendSaysWhichOne() throws {
    let program = Corpus.path("add_xnn")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: program))
    // The same program, with the name of its backend replaced by an unknown one.
    let name = Data("XnnpackBackend".utf8)
    while let place = bytes.range(of: name) { bytes.replaceSubrange(place, with: Data("SomeonesDriver".utf8)) }
    expectError(.notFound, "SomeonesDriver") { try Module(data: bytes).load("forward") }
  }

  /// The effect of one rounding in a sum of a few hundred terms, relative to |value| + min(1, the largest |value|).
  private func tolerance(_ dataType: DataType, _ program: String) -> Double {
    // Eager quantises the activations of this program with one scale, the backend each row separately.
    if program == "q8_dynamic_linear_xnn" { return 1e-2 }
    switch dataType {
    case .half: return 2e-3
    case .float: return 1e-5
    case .double: return 1e-12
    default: return 0
    }
  }

  private func compare(_ found: Value, _ expected: Value, _ program: String) {
    XCTAssertEqual(found.tag, expected.tag, program)
    guard let tensor = found.anyTensor, let wanted = expected.anyTensor else {
      XCTAssertEqual(found, expected, program)
      return
    }
    XCTAssertEqual(tensor.dataType, wanted.dataType, program)
    XCTAssertEqual(tensor.shape, wanted.shape, program)
    XCTAssertEqual(tensor.dimensionOrder, wanted.dimensionOrder, program)
    let relative = tolerance(tensor.dataType, program)
    guard relative > 0 else {
      XCTAssertEqual(tensor, wanted, program)
      return
    }
    let values: [Double] = tensor.copy(to: .double).asTensor()!.scalars()
    let truth: [Double] = wanted.copy(to: .double).asTensor()!.scalars()
    let largest = min(truth.filter(\.isFinite).map(abs).max() ?? 0, 1)
    for (value, wanted) in zip(values, truth) {
      if wanted.isFinite {
        XCTAssertEqual(value, wanted, accuracy: relative * (abs(wanted) + largest) + .leastNormalMagnitude, program)
      } else {
        XCTAssertTrue(wanted.isNaN ? value.isNaN : value == wanted, program)
      }
    }
  }
}
