// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import XCTest

/// What `python -m sdk.export --wrapper swift` writes, in Wrappers/ (tests/wrappers/regenerate).
final class WrapperTests: XCTestCase {
  func testTakesNumbersAndGivesWhatEagerGave() throws {
    let program = try ScalarInputs(filePath: Corpus.path("scalar_inputs"))
    let call = try Corpus.manifest("scalar_inputs").calls[0]
    let input: Tensor<Float> = try call.inputs[0].value(of: "scalar_inputs").tensor()!
    let expected: Tensor<Float> = try call.outputs[0].value(of: "scalar_inputs").tensor()!
    let output = try program.forward(input0: input, input1: 3, input2: 2.5, input3: true)
    for (found, wanted) in zip(output.scalars(), expected.scalars()) {
      XCTAssertEqual(found, wanted, accuracy: 1e-5 * (abs(wanted) + 1))
    }
    expectError(.invalidArgument, "input0: expected a shape of") {
      _ = try program.forward(input0: .ones(shape: [3, 2]), input1: 3, input2: 2.5, input3: true)
    }
  }

  func testHasAFunctionForEachMethod() throws {
    let program = try MultiMethod(filePath: Corpus.path("multi_method"))
    XCTAssertEqual(try program.getMaxSeqLen(), 128)
    XCTAssertEqual(try program.getScale(), 0.125)
    XCTAssertTrue(try program.useKv())
    let two = try program.getTwo()
    XCTAssertEqual(two.output0, 1)
    XCTAssertEqual(two.output1, 2.5)
  }

  func testTakesEverySizeOfADynamicShape() throws {
    let program = try DynBatch(filePath: Corpus.path("dyn_batch"))
    var shape = try program.module.methodMetadata("forward").inputTensorMetadata[0]!.shape
    shape[0] = 2
    XCTAssertEqual(try program.forward(input0: .ones(shape: shape)).shape[0], 2)
    shape[0] = 1000
    expectError(.invalidArgument, "input0") { _ = try program.forward(input0: .ones(shape: shape)) }
  }

  func testRefusesAnotherProgram() {
    expectError(.invalidProgram, "export both together") { _ = try DynBatch(filePath: Corpus.path("add")) }
  }
}
