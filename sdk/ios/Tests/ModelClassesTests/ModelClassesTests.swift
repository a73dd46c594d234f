// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import XCTest

/// The plugin ModelClasses made the class DynBatch of DynBatch.pte while this target was built.
final class ModelClassesTests: XCTestCase {
  func testTheClassOfTheProgramIsMadeByTheBuild() throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("DynBatch.pte").path
    XCTAssertEqual(DynBatch.fileName, "DynBatch.pte")
    let program = try DynBatch(filePath: path)
    XCTAssertEqual(try program.forward(input0: .ones(shape: [2, 8])).shape, [2, 4])
  }
}
