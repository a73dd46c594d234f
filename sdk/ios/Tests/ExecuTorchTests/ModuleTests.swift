// SPDX-License-Identifier: BSD-3-Clause
import Foundation
import XCTest

@testable import ExecuTorch

/// IOS-07 to IOS-09, IOS-20, IOS-21 and what `Module` does on bad input.
final class ModuleTests: XCTestCase {
  private let x = Tensor<Float>([1, 2, 3, 4, 5, 6], shape: [2, 3])
  private let y = Tensor<Float>([10, 20, 30, 40, 50, 60], shape: [2, 3])
  private let sum: [Float] = [11, 22, 33, 44, 55, 66]

  /// IOS-07: nothing is loaded before it is needed.
  func testIOS07LoadingIsDeferred() throws {
    let module = Corpus.module("add")
    XCTAssertFalse(module.isLoaded())
    XCTAssertFalse(module.isLoaded("forward"))
    try module.load("forward")
    XCTAssertTrue(module.isLoaded())
    XCTAssertTrue(module.isLoaded("forward"))
    XCTAssertTrue(module.unload("forward"))
    XCTAssertFalse(module.unload("forward"))
    XCTAssertEqual(try Tensor<Float>(module.forward(x, y)).scalars(), sum)
    XCTAssertEqual(try Corpus.module("multi_method").methodNames().count, 8)
  }

  /// The methods of a program share its state, and the programs of two modules do not.
  func testMethodsShareState() throws {
    for _ in 0..<2 {
      let module = Module(filePath: DevtoolsTests.data("shared_state.pte"))
      for (method, x, count) in [("add", 2, 3), ("mul", 5, 15), ("add", 1, 16), ("mul", 3, 48)] as [(String, Float, Float)] {
        XCTAssertEqual(try Tensor<Float>(module.execute(method, Tensor<Float>([x]))).scalars(), [count])
      }
    }
  }

  /// IOS-08: every load mode and verification gives the same outputs.
  func testIOS08LoadModesAndVerification() throws {
    for mode in [ModuleLoadMode.file, .mmap, .mmapUseMlockIgnoreErrors] {
      for verification in [ModuleVerification.minimal, .internalConsistency] {
        let module = Corpus.module("add", loadMode: mode)
        try module.load(verification: verification)
        XCTAssertEqual(try Tensor<Float>(module.forward(x, y)).scalars(), sum)
      }
    }
    let data = try Data(contentsOf: URL(fileURLWithPath: Corpus.path("add")))
    XCTAssertEqual(try Tensor<Float>(Module(data: data).forward(x, y)).scalars(), sum)
  }

  /// IOS-20: outputs as values, and converted to other types.
  func testIOS20OutputsAreDecoded() throws {
    let module = Corpus.module("add")
    let values = try module.forward([x, y])
    XCTAssertEqual(values.first?.tensor()?.scalars(), sum)
    let tensor: Tensor<Float> = try module.forward(x, y)
    XCTAssertEqual(tensor.scalars(), sum)
    let list: [AnyTensor] = try module.execute("forward", [x, y])
    XCTAssertEqual(list.count, 1)
    XCTAssertEqual(try Tensor<Float>(module.execute("forward", x, y)).scalars(), sum)
    expectError(.invalidType, "float") { let _: Tensor<Int32> = try module.forward(x, y) }
    expectError(.invalidType, "found a tensor") { let _: String = try module.forward(x, y) }
    let several = Corpus.module("multi_method")
    expectError(.invalidType, "found 3") { let _: Int = try several.execute("get_list") }
    XCTAssertEqual(try several.execute("get_list") as [Int], [1, 2, 3])
    XCTAssertEqual(try several.execute("get_max_seq_len") as Int, 128)
    XCTAssertEqual(try several.execute("get_scale") as Double, 0.125)
    XCTAssertEqual(try several.execute("use_kv") as Bool, true)
    expectError(.invalidType, "Int8") { let _: Int8 = try several.execute("get_max_seq_len") + 0 }
  }

  /// IOS-21: the metadata of a method is enough to run it.
  func testIOS21Metadata() throws {
    let module = Corpus.module("scalar_inputs")
    let metadata = try module.methodMetadata("forward")
    XCTAssertEqual(metadata.name, "forward")
    XCTAssertEqual(metadata.inputValueTags.first, .tensor)
    XCTAssertEqual(metadata.inputValueTags.count, 4)
    XCTAssertEqual(metadata.inputTensorMetadata[0]?.shape, [2, 3])
    XCTAssertEqual(metadata.inputTensorMetadata[0]?.dataType, .float)
    XCTAssertNil(metadata.inputTensorMetadata[1])
    XCTAssertEqual(metadata.outputTensorMetadata[0]?.dimensionOrder, [0, 1])
    XCTAssertTrue(metadata.inputTensorMetadata[0]!.isMemoryPlanned)
    XCTAssertGreaterThan(metadata.memoryPlannedBufferSizes.reduce(0, +), 0)
    XCTAssertGreaterThan(metadata.instructionCount, 0)
    XCTAssertEqual(metadata.backendNames, [])
    XCTAssertFalse(module.isLoaded("forward"))
    XCTAssertEqual(try Corpus.module("add_xnn").methodMetadata("forward").backendNames, ["XnnpackBackend"])
    let inputs = try Corpus.module("add").methodMetadata("forward").inputTensorMetadata
    let random = inputs.sorted { $0.key < $1.key }.map { AnyTensor.rand(shape: $1.shape, dataType: $1.dataType) }
    XCTAssertEqual(try Corpus.module("add").forward(random).count, 1)
  }

  func testOutputsAreNotCopiedAndNeverChange() throws {
    let module = Corpus.module("add")
    let first: Tensor<Float> = try module.forward(x, y)
    let view = Tensor(first, shape: [6])
    let address = first.withUnsafeBytes { $0.baseAddress! }
    let second: Tensor<Float> = try module.forward(y, y)
    XCTAssertEqual(second.withUnsafeBytes { $0.baseAddress! }, address, "the output is in the module's memory")
    XCTAssertEqual(first.scalars(), sum)
    XCTAssertEqual(view.scalars(), sum)
    XCTAssertEqual(second.scalars(), [20, 40, 60, 80, 100, 120])
    // An output is used as an input.
    let third: Tensor<Float> = try module.forward(second, first)
    XCTAssertEqual(third.scalars(), [31, 62, 93, 124, 155, 186])
    XCTAssertTrue(module.unload("forward"))
    XCTAssertEqual(third.scalars(), [31, 62, 93, 124, 155, 186])
  }

  func testOutputsOutliveTheirModule() throws {
    var module: Module? = Corpus.module("add")
    weak var gone = module
    let output: Tensor<Float> = try module!.forward(x, y)
    module = nil
    XCTAssertNil(gone)
    XCTAssertEqual(output.scalars(), sum)
  }

  func testEveryRunOfAStatefulProgramIsKept() throws {
    let module = Corpus.module("counter")
    let one = Tensor<Float>.ones(shape: [3])
    let outputs = try (0..<3).map { _ in try module.forward(one)[1].tensor()! as Tensor<Float> }
    XCTAssertEqual(Set(outputs.map { $0.scalars() }).count, 3)
  }

  func testInputsThatAreSetStay() throws {
    let module = Corpus.module("add")
    try module.setInput(y, at: 1)
    XCTAssertEqual(try Tensor<Float>(module.forward(x)).scalars(), sum)
    expectError(.invalidArgument, "input 0 is neither given nor set") { _ = try module.forward() }
    try module.setInputs(x, y)
    XCTAssertEqual(try Tensor<Float>(module.forward()).scalars(), sum)
    expectError(.invalidArgument, "takes 2 inputs, found 1") { try module.setInputs([x]) }
    expectError(.invalidArgument, "index 2") { try module.setInput(x, at: 2) }
  }

  func testAnOutputIsWrittenIntoTheCallersTensor() throws {
    let module = Corpus.module("no_planned_io")
    let metadata = try module.methodMetadata("forward")
    let inputs = (0..<metadata.inputValueTags.count).map { index -> AnyTensor in
      let input = metadata.inputTensorMetadata[index]!
      return AnyTensor.rand(shape: input.shape, dataType: input.dataType)
    }
    let expected = try AnyTensor(module.forward(inputs)).copy()
    let output = metadata.outputTensorMetadata[0]!
    let target = AnyTensor.zeros(shape: output.shape, dataType: output.dataType)
    try module.setOutput(target)
    _ = try module.forward(inputs)
    XCTAssertEqual(target, expected)
    expectError(.invalidType, "expected a tensor") { try module.setOutput(1) }
  }

  func testDynamicShapesTakeSmallerInputs() throws {
    let module = Corpus.module("dyn_batch")
    var shape = try module.methodMetadata("forward").inputTensorMetadata[0]!.shape
    shape[0] = 2
    XCTAssertEqual(try AnyTensor(module.forward(AnyTensor.rand(shape: shape, dataType: .float))).shape[0], 2)
  }

  // MARK: Errors

  func testErrorsSayWhatIsWrong() throws {
    expectError(.accessFailed, "/no/such/file.pte") { try Module(filePath: "/no/such/file.pte").load() }
    expectError(.invalidProgram, "expected 'ET12'") { try Module(data: Data(repeating: 7, count: 100)).load() }
    var damaged = try Data(contentsOf: URL(fileURLWithPath: Corpus.path("add")))
    damaged.removeLast(damaged.count / 2)
    expectError(.invalidProgram, "damaged") { try Module(data: damaged).load() }
    let module = Corpus.module("add")
    expectError(.invalidArgument, "there is no method 'backward'; the program has: forward") {
      _ = try module.execute("backward")
    }
    expectError(.invalidArgument, "takes 2 inputs, found 1") { _ = try module.forward(x) }
    expectError(.invalidArgument, "Input 1 must have 2 dimensions, found 1") { _ = try module.forward(x, Tensor<Float>([1])) }
    expectError(.invalidArgument, "Input 1 must have dtype Float, found Int") {
      _ = try module.forward(x, Tensor<Int32>.ones(shape: [2, 3]))
    }
    expectError(.invalidType, "ListInt") { _ = try module.forward(x, Value(payload: .integers([1]))) }
    XCTAssertEqual(try Tensor<Float>(module.forward(x, y)).scalars(), sum, "the module still works")
  }

  func testErrorsAreNSErrors() {
    let error = Error(code: .notFound, description: "no such thing") as NSError
    XCTAssertEqual(error.domain, ErrorDomain)
    XCTAssertEqual(error.code, 0x20)
    XCTAssertEqual(error.localizedDescription, "no such thing")
    // The standard library's Error keeps its name.
    let any: any Error = Error(code: .internal)
    XCTAssertEqual("\(any)", "internal (1): \(ErrorDescription(.internal))")
    XCTAssertEqual(ErrorCode.allCases.count, Set(ErrorCode.allCases.map { ErrorDescription($0) }).count)
  }

  func testBackendOptionsAreGivenBeforeTheProgramIsLoaded() throws {
    let options = try BackendOptionsMap(options: ["SomeBackend": [BackendOption("threads", 2), BackendOption("fast", true)]])
    XCTAssertEqual(options.options["SomeBackend"]?[0].type, .integer)
    XCTAssertEqual(options.options["SomeBackend"]?[1].boolValue, true)
    let module = Corpus.module("add")
    try module.load("forward", options: options)
    expectError(.invalidState, "loaded already") { try module.load(options: options) }
    expectError(.invalidArgument, "twice") {
      _ = try BackendOptionsMap(options: ["b": [BackendOption("k", 1), BackendOption("k", "2")]])
    }
    expectError(.invalidArgument, "32 bits") { _ = try BackendOptionsMap(options: ["b": [BackendOption("k", Int.max)]]) }
  }

  // MARK: Threads

  /// IOS-09: a module for each thread, of one program.
  func testIOS09ModulesOfOneProgramRunAtTheSameTime() async throws {
    let module = Corpus.module("linear")
    let input = try module.methodMetadata("forward").inputTensorMetadata[0]!
    let ones = AnyTensor.ones(shape: input.shape, dataType: input.dataType)
    let expected: [Float] = try Tensor<Float>(module.forward(ones)).scalars()
    let results = try await withThrowingTaskGroup(of: [[Float]].self) { group in
      for _ in 0..<4 {
        let other = try module.share()
        group.addTask {
          try (0..<50).map { _ in
            let ones = AnyTensor.ones(shape: input.shape, dataType: input.dataType)
            return try Tensor<Float>(other.forward(ones)).scalars()
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    XCTAssertEqual(results.count, 200)
    XCTAssertTrue(results.allSatisfy { $0 == expected })
  }
}
