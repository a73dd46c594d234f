// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation
import XCTest

@testable import ExecuTorch

/// Names from the documentation that no other test calls: numbers of enumerations, every form of the initialisers and
/// of `execute`, every factory.
final class SurfaceTests: XCTestCase {
  private let x = Tensor<Float>([1, 2, 3, 4, 5, 6], shape: [2, 3])
  private let y = Tensor<Float>([10, 20, 30, 40, 50, 60], shape: [2, 3])
  private let sum: [Float] = [11, 22, 33, 44, 55, 66]

  /// IOS-08, IOS-11, IOS-22: the numbers of c10::ScalarType and of the documents.
  func testTheNumbersOfEnumerations() {
    let names: [(DataType, Int8)] = [
      (.byte, 0), (.char, 1), (.short, 2), (.int, 3), (.long, 4), (.half, 5), (.float, 6), (.double, 7), (.complexHalf, 8),
      (.complexFloat, 9), (.complexDouble, 10), (.bool, 11), (.qInt8, 12), (.qUInt8, 13), (.qInt32, 14), (.bFloat16, 15),
      (.qUInt4x2, 16), (.qUInt2x4, 17), (.bits1x8, 18), (.bits2x4, 19), (.bits4x2, 20), (.bits8, 21), (.bits16, 22),
      (.uInt16, 27), (.uInt32, 28), (.uInt64, 29),
    ]
    for (type, number) in names { XCTAssertEqual(type.rawValue, number, "\(type)") }
    XCTAssertEqual(DataType.allCases.count, names.count + 1, "and undefined")
    XCTAssertEqual([ModuleLoadMode.file, .mmap, .mmapUseMlock, .mmapUseMlockIgnoreErrors].map(\.rawValue), [0, 1, 2, 3])
    XCTAssertEqual([ModuleVerification.minimal, .internalConsistency].map(\.rawValue), [0, 1])
    XCTAssertEqual([ShapeDynamism.static, .dynamicBound, .dynamicUnbound].map(\.rawValue), [0, 1, 2])
    XCTAssertEqual([ValueTag.none, .tensor, .string, .double, .integer, .boolean].map(\.rawValue), [0, 1, 2, 3, 4, 5])
    XCTAssertEqual([BackendOptionType.boolean, .integer, .string].map(\.rawValue), [0, 1, 2])
    let levels: [(LogLevel, Character)] = [(.debug, "D"), (.info, "I"), (.error, "E"), (.fatal, "F"), (.unknown, "?")]
    for (level, letter) in levels { XCTAssertEqual(level.rawValue, letter.asciiValue) }
  }

  func testEveryScalarHasItsTypeAndItsNumber() {
    func check<T: Scalar & Equatable>(_ scalar: T, _ dataType: DataType, _ number: NSNumber) {
      XCTAssertEqual(T.dataType, dataType)
      XCTAssertEqual(scalar.asNSNumber(), number)
      let tensor = Tensor<T>([scalar, scalar])
      XCTAssertEqual(tensor.dataType, dataType)
      XCTAssertEqual(tensor.scalars(), [scalar, scalar])
      XCTAssertEqual(tensor.anyTensor.bytes { $1 * size(ofDataType: $2) }, 2 * MemoryLayout<T>.size)
    }
    check(UInt8(3), .byte, 3)
    check(Int8(-3), .char, -3)
    check(Int16(-3), .short, -3)
    check(Int32(-3), .int, -3)
    check(Int64(-3), .long, -3)
    check(Int(-3), .long, -3)
    check(UInt16(3), .uInt16, 3)
    check(UInt32(3), .uInt32, 3)
    check(UInt64(3), .uInt64, 3)
    check(UInt(3), .uInt64, 3)
    check(Float(1.5), .float, 1.5)
    check(1.5, .double, 1.5)
    check(true, .bool, true)
    check(Float16(1.5), .half, 1.5)
  }

  /// IOS-07: weights in other files.
  func testIOS07AModuleOfSeveralFiles() throws {
    let manifest = try Corpus.manifest("ptd_portable")
    let program = Corpus.path("ptd_portable", manifest.pte)
    let data = manifest.ptd!.map { Corpus.path("ptd_portable", $0) }
    let inputs = try manifest.calls[0].inputs.map { try $0.value(of: "ptd_portable") }
    let first = try Module(filePath: program, dataFilePaths: data).forward(inputs)
    XCTAssertEqual(try Module(filePath: program, dataFilePaths: data, loadMode: .mmap).forward(inputs), first)
    XCTAssertThrowsError(try Module(filePath: program).forward(inputs))
    XCTAssertEqual(Module(filePath: program).filePath, program)
    // The system may not allow this process to lock pages; then the error says so.
    do {
      try Module(filePath: program, loadMode: .mmapUseMlock).load()
    } catch let error as ExecuTorchError {
      XCTAssertTrue(error.message.contains("lock"), "\(error)")
    }
  }

  /// IOS-07, IOS-20: every form of execute and forward.
  func testIOS07EveryFormOfACall() throws {
    let module = Corpus.module("add")
    XCTAssertEqual(try module.execute("forward", [x, y])[0].tensor()?.scalars(), sum)
    XCTAssertEqual(try module.execute("forward", x, y)[0].tensor()?.scalars(), sum)
    XCTAssertEqual((try module.execute("forward", [x, y]) as Tensor<Float>).scalars(), sum)
    XCTAssertEqual((try module.execute("forward", x, y) as Tensor<Float>).scalars(), sum)
    XCTAssertEqual((try module.forward([x, y]) as Tensor<Float>).scalars(), sum)
    try module.setInput(y, for: "forward", at: 1)
    XCTAssertEqual(try module.execute("forward", x)[0].tensor()?.scalars(), sum)
    XCTAssertEqual((try module.execute("forward", x) as Tensor<Float>).scalars(), sum)
    XCTAssertEqual((try module.forward(x) as Tensor<Float>).scalars(), sum)
    try module.setInputs([x, y], for: "forward")
    XCTAssertEqual((try module.forward() as Tensor<Float>).scalars(), sum)
    try module.setInputs(x, y, for: "forward")
    XCTAssertEqual(try module.execute("forward")[0].tensor()?.scalars(), sum)
    XCTAssertEqual((try module.execute("forward") as Tensor<Float>).scalars(), sum)
    try module.setInput(y)
    XCTAssertEqual(try (module.forward() as Tensor<Float>).scalars(), y.scalars().map { 2 * $0 })
    XCTAssertTrue(try Corpus.module("multi_method").execute("get_list").allSatisfy(\.isInteger))
  }

  /// IOS-21: metadata of outputs and state.
  func testIOS21MetadataOfOutputsAndState() throws {
    let metadata = try Corpus.module("counter").methodMetadata("forward")
    XCTAssertEqual(metadata.outputValueTags, [.tensor, .tensor])
    XCTAssertEqual(metadata.outputTensorMetadata[1]?.shape, [4])
    XCTAssertEqual(metadata.outputTensorMetadata[1]?.dataType, .float)
    XCTAssertEqual(metadata.outputTensorMetadata[1]?.name, "")
    for attribute in metadata.attributeTensorMetadata {
      XCTAssertFalse(attribute.name.isEmpty)
      XCTAssertEqual(attribute.shape.count, attribute.dimensionOrder.count)
    }
    XCTAssertFalse(try Corpus.module("no_planned_io").methodMetadata("forward").inputTensorMetadata[0]!.isMemoryPlanned)
    let list = try Corpus.module("multi_method").methodMetadata("get_list")
    XCTAssertEqual(list.outputValueTags, [.integer, .integer, .integer])
    XCTAssertEqual(list.inputValueTags, [])
  }

  func testABackendOptionHasTheValueOfItsTypeOnly() {
    let options = [BackendOption("a", true), BackendOption("b", 7), BackendOption("c", "text")]
    XCTAssertEqual(options.map(\.key), ["a", "b", "c"])
    XCTAssertEqual(options.map(\.type), [.boolean, .integer, .string])
    XCTAssertEqual(options.map(\.boolValue), [true, false, false])
    XCTAssertEqual(options.map(\.intValue), [0, 7, 0])
    XCTAssertEqual(options.map(\.stringValue), ["", "", "text"])
  }

  /// IOS-19, IOS-20: conversions from values and to values.
  func testIOS19EveryTypeOfAValue() throws {
    func check<T: FixedWidthInteger & ValueConvertible & ValueConstructible & ValueSequenceConstructible>(_: T.Type) throws {
      XCTAssertEqual(T(7).asValue(), Value(7))
      XCTAssertEqual(try T(Value(7)), 7)
      XCTAssertEqual(try T([Value(7)]), 7)
      XCTAssertThrowsError(try T.from(Value("7")))
    }
    try check(Int.self)
    try check(Int8.self)
    try check(Int16.self)
    try check(Int32.self)
    try check(Int64.self)
    try check(UInt.self)
    try check(UInt8.self)
    try check(UInt16.self)
    try check(UInt32.self)
    try check(UInt64.self)
    XCTAssertEqual(try Float([Value(2.5)]), 2.5)
    XCTAssertEqual(try Double([Value(2.5)]), 2.5)
    XCTAssertEqual(try Bool(Value(true)), true)
    XCTAssertEqual(try String([Value("a")]), "a")
    XCTAssertEqual(try NSNumber.from(Value(2.5)), 2.5)
    XCTAssertEqual(try NSNumber.from([Value(3)]), 3)
    XCTAssertThrowsError(try NSNumber.from(Value("3")))
    XCTAssertEqual(Value(NSNumber(value: 2.5)).double, 2.5)
    XCTAssertEqual(Value(NSNumber(value: 3)).integer, 3)
    XCTAssertEqual(Value(NSNumber(value: true)).scalar, true)
    XCTAssertEqual(try Value(Value(3)), Value(3))
    XCTAssertEqual(try Value.from([Value(3)]), Value(3))
    XCTAssertEqual(try AnyTensor([Value(x)]), x.anyTensor)
    XCTAssertEqual(try AnyTensor(Value(x.anyTensor)), x.anyTensor)
    XCTAssertEqual(try Tensor<Float>([Value(x)]), x)
    XCTAssertEqual(try Tensor<Float>(Value(x)), x)
    XCTAssertEqual(try [Tensor<Float>]([Value(x), Value(y)]), [x, y])
    expectError(.invalidType, "found 2") { _ = try Tensor<Float>([Value(x), Value(y)]) }
  }

  /// IOS-13: the initialisers of AnyTensor.
  func testIOS13InitializersOfAnyTensor() {
    var memory: [Int32] = [1, 2, 3, 4]
    memory.withUnsafeMutableBytes { bytes in
      let inPlace = AnyTensor(
        bytesNoCopy: bytes.baseAddress!, shape: [2, 2], strides: [1, 2], dataType: .int, shapeDynamism: .static)
      let copied = AnyTensor(bytes: bytes.baseAddress!, shape: [2, 2], dimensionOrder: [1, 0], dataType: .int)
      XCTAssertEqual(inPlace, copied)
      XCTAssertEqual(inPlace.shapeDynamism, .static)
      XCTAssertEqual(inPlace.bytes { pointer, _, _ in pointer }, UnsafeRawPointer(bytes.baseAddress!))
      XCTAssertNotEqual(copied.bytes { pointer, _, _ in pointer }, UnsafeRawPointer(bytes.baseAddress!))
    }
    let data = AnyTensor(data: Data([1, 0, 0, 1]), shape: [4], dataType: .bool, shapeDynamism: .dynamicUnbound)
    XCTAssertEqual(data.copy(to: .float).asTensor()!, Tensor<Float>([1, 0, 0, 1]))
    XCTAssertEqual(data.shapeDynamism, .dynamicUnbound)
    XCTAssertEqual(AnyTensor(data, shape: [2, 2], dimensionOrder: [1, 0], strides: [1, 2]).strides, [1, 2])
    XCTAssertEqual(data.copy(), data)
    XCTAssertEqual(Tensor<Float>(x, shape: [3, 2], strides: [1, 3]).dimensionOrder, [1, 0])
    XCTAssertEqual(Tensor<Float>([1, 2, 3, 4, 5, 6], shape: [2, 3], dimensionOrder: [1, 0]).strides, [1, 2])
    XCTAssertEqual(Tensor<Float>(x.anyTensor), x)
  }

  /// IOS-14: every factory, with a shape and like another tensor, of both classes.
  func testIOS14EveryFactory() {
    let model = AnyTensor.zeros(shape: [2, 3], strides: [1, 2], dataType: .float, shapeDynamism: .static)
    let typed = Tensor<Float>(model)
    let made: [AnyTensor] = [
      .empty(like: model), .full(like: model, scalar: 2), .ones(like: model), .zeros(like: model), .rand(like: model),
      .randn(like: model), .randint(like: model, low: 1, high: 3), Tensor.empty(like: typed).anyTensor,
      Tensor.full(like: typed, scalar: 2).anyTensor, Tensor.ones(like: typed).anyTensor, Tensor.zeros(like: typed).anyTensor,
      Tensor.rand(like: typed).anyTensor, Tensor.randn(like: typed).anyTensor,
      Tensor.randint(like: typed, low: 1, high: 3).anyTensor,
    ]
    for tensor in made {
      XCTAssertEqual(tensor.shape, [2, 3])
      XCTAssertEqual(tensor.strides, [1, 2])
      XCTAssertEqual(tensor.dataType, .float)
      XCTAssertEqual(tensor.shapeDynamism, .static)
    }
    XCTAssertEqual(made[1], made[8])
    XCTAssertEqual(Tensor<Float>(made[6]).scalars().filter { $0 == 1 || $0 == 2 }.count, 6)
    XCTAssertEqual(AnyTensor.ones(like: model, dataType: .int, shapeDynamism: .dynamicBound).shapeDynamism, .dynamicBound)
    let untyped: [AnyTensor] = [
      .empty(shape: [4], dataType: .int), .full(shape: [4], scalar: 2.9, dataType: .int), .ones(shape: [4], dataType: .int),
      .zeros(shape: [4], dataType: .int), .rand(shape: [4], dataType: .double), .randn(shape: [4], dataType: .double),
      .randint(low: -1, high: 0, shape: [4], dataType: .int),
    ]
    XCTAssertTrue(untyped.allSatisfy { $0.count == 4 && $0.shapeDynamism == .dynamicBound })
    XCTAssertEqual(untyped[1].asTensor()!, Tensor<Int32>([2, 2, 2, 2]))
    XCTAssertEqual(untyped[6].asTensor()!, Tensor<Int32>([-1, -1, -1, -1]))
    XCTAssertEqual(Tensor<Int>.randint(low: 5, high: 6, shape: [2]).scalars(), [5, 5])
    XCTAssertEqual(Tensor<Double>.rand(shape: [3]).count + Tensor<Double>.randn(shape: [3]).count, 6)
  }

  // MARK: Copies

  /// The runtime's tensor of an input refers to the caller's bytes.
  func testInputsAreNotCopied() throws {
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: 6)
    defer { memory.deallocate() }
    memory.initialize(repeating: 1, count: 6)
    let data = Data(count: 96)
    var array: [Float] = [1, 2, 3, 4, 5, 6]
    let arrayAddress = array.withUnsafeMutableBytes { UnsafeRawPointer($0.baseAddress!) }
    let tensors: [(AnyTensor, UnsafeRawPointer)] = [
      (AnyTensor(bytesNoCopy: memory, shape: [2, 3], dataType: .float), UnsafeRawPointer(memory)),
      (AnyTensor(data: data, shape: [24], dataType: .float), data.withUnsafeBytes { $0.baseAddress! }),
      (Tensor(&array, shape: [2, 3]).anyTensor, arrayAddress),
    ]
    for (tensor, address) in tensors {
      XCTAssertEqual(UnsafeRawPointer(et_tensor_data(try tensor.runtimeTensor())), address, "\(tensor.shape)")
    }
    // A call neither moves the memory nor makes another tensor of it; the next call reads a change of the memory.
    let module = Corpus.module("add")
    let handle = try tensors[0].0.runtimeTensor()
    XCTAssertEqual(try Tensor<Float>(module.forward(tensors[0].0, y)).scalars(), y.scalars().map { $0 + 1 })
    XCTAssertEqual(try tensors[0].0.runtimeTensor(), handle)
    memory.update(repeating: 5, count: 6)
    XCTAssertEqual(try Tensor<Float>(module.forward(tensors[0].0, y)).scalars(), y.scalars().map { $0 + 5 })
    try module.setInput(tensors[0].0, at: 0)
    try module.setInput(y, at: 1)
    memory.update(repeating: 7, count: 6)
    XCTAssertEqual(try Tensor<Float>(module.forward()).scalars(), y.scalars().map { $0 + 7 })
  }

  /// An output refers to the memory that the runtime wrote, or to the caller's if the method writes there.
  func testOutputsAreNotCopied() throws {
    let module = Corpus.module("add")
    var address: UnsafeRawPointer?
    let outputs = try module.run("forward") { handle, out in
      let inputs = try [x, y].map { tensor in
        var value = et_value()
        value.tag = et_tag(ET_TAG_TENSOR)
        value.payload.as_tensor = try tensor.anyTensor.runtimeTensor()
        return value
      }
      try check { et_module_execute(handle, "forward", inputs, inputs.count, out, $0) }
      address = UnsafeRawPointer(et_tensor_data(et_result_values(out.pointee)[0].payload.as_tensor))
    }
    XCTAssertEqual(outputs[0].anyTensor!.bytes { pointer, _, _ in pointer }, address)
    XCTAssertEqual(outputs[0].tensor()?.scalars(), sum)

    let other = Corpus.module("no_planned_io")
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: 12)
    defer { memory.deallocate() }
    memory.initialize(repeating: .nan, count: 12)
    try other.setOutput(Tensor<Float>(bytesNoCopy: memory, shape: [3, 4]), for: "forward", at: 0)
    let found: AnyTensor = try other.forward(Tensor<Float>.ones(shape: [3, 8]))
    XCTAssertEqual(found.bytes { pointer, _, _ in pointer }, UnsafeRawPointer(memory))
    XCTAssertFalse((0..<12).contains { memory[$0].isNaN })
  }
}
