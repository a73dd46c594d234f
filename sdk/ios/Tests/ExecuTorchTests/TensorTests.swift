// SPDX-License-Identifier: BSD-3-Clause
import Foundation
import XCTest

@testable import ExecuTorch

/// IOS-10 to IOS-18.
final class TensorTests: XCTestCase {
  /// IOS-10: the typed tensor of an AnyTensor, nil for the wrong type.
  func testIOS10TypedAndUntyped() {
    let any = AnyTensor.ones(shape: [2], dataType: .float)
    let typed: Tensor<Float>? = any.asTensor()
    XCTAssertEqual(typed?.scalars(), [1, 1])
    XCTAssertTrue(typed?.anyTensor === any)
    let wrong: Tensor<Int>? = any.asTensor()
    XCTAssertNil(wrong)
  }

  /// IOS-11: the properties of a [2, 3] tensor.
  func testIOS11Properties() {
    let tensor = Tensor<Float>([1, 2, 3, 4, 5, 6], shape: [2, 3])
    XCTAssertEqual(tensor.dataType, .float)
    XCTAssertEqual(tensor.shape, [2, 3])
    XCTAssertEqual(tensor.count, 6)
    XCTAssertEqual(tensor.strides, [3, 1])
    XCTAssertEqual(tensor.dimensionOrder, [0, 1])
    XCTAssertEqual(tensor.shapeDynamism, .dynamicBound)
  }

  func testDimensionOrderAndStridesFollowFromEachOther() {
    let byOrder = AnyTensor.zeros(shape: [1, 3, 4, 5], dataType: .float)
    let channelsLast = AnyTensor(byOrder, dimensionOrder: [0, 2, 3, 1])
    XCTAssertEqual(channelsLast.strides, [60, 1, 15, 3])
    let byStrides = AnyTensor.empty(shape: [1, 3, 4, 5], strides: [60, 1, 15, 3], dataType: .float)
    XCTAssertEqual(byStrides.dimensionOrder, [0, 2, 3, 1])
  }

  /// IOS-12: a change of a view changes the original; a change of a copy does not.
  func testIOS12ViewsAndCopies() {
    let original = Tensor<Int32>([1, 2, 3, 4])
    let view = Tensor(original, shape: [2, 2])
    let copy = original.copy()
    view.withUnsafeMutableBytes { $0[0] = 100 }
    copy.withUnsafeMutableBytes { $0[1] = 200 }
    XCTAssertEqual(original.scalars(), [100, 2, 3, 4])
    XCTAssertEqual(view.shape, [2, 2])
    XCTAssertEqual(copy.scalars(), [1, 200, 3, 4])
  }

  /// IOS-13: which initialisers use the caller's memory.
  func testIOS13InitializersFromMemory() {
    let memory = UnsafeMutablePointer<Float>.allocate(capacity: 4)
    defer { memory.deallocate() }
    memory.initialize(repeating: 1, count: 4)
    let inPlace = Tensor<Float>(bytesNoCopy: memory, shape: [2, 2])
    let copied = Tensor<Float>(bytes: memory, shape: [4])
    memory[0] = 9
    XCTAssertEqual(inPlace.scalars(), [9, 1, 1, 1])
    XCTAssertEqual(copied.scalars(), [1, 1, 1, 1])

    var live: [Int32] = [10, 20, 30]
    let alias = Tensor(&live)
    alias.withUnsafeMutableBytes { $0[1] = 21 }
    XCTAssertEqual(live, [10, 21, 30])

    let scalar = Tensor(42)
    XCTAssertEqual(scalar.shape, [])
    XCTAssertEqual(scalar.count, 1)
    XCTAssertEqual(scalar.dataType, .long)
    XCTAssertEqual(Tensor([1.0, 2.0]).dataType, .double)
    XCTAssertEqual(Tensor([Float]()).count, 0)
    XCTAssertEqual(Tensor([Float](), shape: [0, 3]).shape, [0, 3])
  }

  /// IOS-13: bytes of Data are used in place, and do not change when the tensor changes.
  func testIOS13DataIsSharedUntilTheTensorChanges() {
    let data = Data((0..<64).map { UInt8($0) })
    let tensor = Tensor<UInt8>(data: data, shape: [64])
    let view = Tensor(tensor)
    tensor.withUnsafeMutableBytes { $0[0] = 255 }
    XCTAssertEqual(data[0], 0)
    XCTAssertEqual(view.scalars()[0], 255)
    // A slice that is not at a multiple of the element's size.
    let odd = Tensor<Int32>(data: data[1..<9], shape: [2])
    XCTAssertEqual(odd.scalars(), [0x0403_0201, 0x0807_0605])
  }

  /// IOS-14: the factories.
  func testIOS14Factories() {
    XCTAssertEqual(Tensor<Int>.full(shape: [2, 2], scalar: 7).scalars(), [7, 7, 7, 7])
    XCTAssertEqual(Tensor<Double>.ones(shape: [3]).scalars(), [1, 1, 1])
    XCTAssertEqual(Tensor<Bool>.zeros(shape: [2]).scalars(), [false, false])
    XCTAssertEqual(Tensor<Float>.empty(shape: [2, 5]).count, 10)
    let uniform = Tensor<Float>.rand(shape: [1000]).scalars()
    XCTAssertTrue(uniform.allSatisfy { $0 >= 0 && $0 < 1 })
    XCTAssertEqual(uniform.reduce(0, +) / 1000, 0.5, accuracy: 0.1)
    let normal = Tensor<Double>.randn(shape: [10000]).scalars()
    XCTAssertEqual(normal.reduce(0, +) / 10000, 0, accuracy: 0.1)
    XCTAssertEqual(normal.map { $0 * $0 }.reduce(0, +) / 10000, 1, accuracy: 0.1)
    let integers = Tensor<Int32>.randint(low: 10, high: 20, shape: [1000]).scalars()
    XCTAssertTrue(integers.allSatisfy { $0 >= 10 && $0 < 20 })
    XCTAssertEqual(Set(integers).count, 10)
    // A number of 24 digits below 1 is rounded to 1 in 1 of 4096 cases as half, and in 1 of 512 as bfloat16.
    for (type, one) in [(DataType.half, 0x3C00 as UInt16), (.bFloat16, 0x3F80)] {
      let bits = AnyTensor.rand(shape: [50000], dataType: type).bytes { pointer, count, _ in
        Array(UnsafeBufferPointer(start: pointer.assumingMemoryBound(to: UInt16.self), count: count))
      }
      XCTAssertTrue(bits.allSatisfy { $0 < one }, "\(type)")
    }
    let large = Tensor<Int>.randint(low: Int.max - 3, high: Int.max, shape: [100]).scalars()
    XCTAssertTrue(large.allSatisfy { $0 >= Int.max - 3 && $0 < Int.max })
    XCTAssertEqual(Set(large).count, 3)
    let model = AnyTensor.empty(shape: [2, 3], strides: [1, 2], dataType: .half, shapeDynamism: .static)
    let like = AnyTensor.ones(like: model)
    XCTAssertEqual(like.dataType, .half)
    XCTAssertEqual(like.strides, [1, 2])
    XCTAssertEqual(like.shapeDynamism, .static)
    XCTAssertEqual(AnyTensor.zeros(like: model, dataType: .long).dataType, .long)
    XCTAssertEqual(AnyTensor.full(shape: [1], scalar: Int.max, dataType: .long).asTensor()!, Tensor([Int.max]))
  }

  /// IOS-15: reading and changing, as the documents show it.
  func testIOS15ReadAndModify() {
    let tensor = Tensor<Float>([1, 2, 3, 4], shape: [2, 2])
    XCTAssertEqual(tensor.scalars(), [1, 2, 3, 4])
    XCTAssertEqual(tensor.withUnsafeBytes { $0.first }, 1)
    tensor.withUnsafeMutableBytes { $0[1] = 200 }
    XCTAssertEqual(tensor.scalars(), [1, 200, 3, 4])
    tensor.anyTensor.bytes { pointer, count, dataType in
      XCTAssertEqual(dataType, .float)
      XCTAssertEqual(UnsafeBufferPointer(start: pointer.assumingMemoryBound(to: Float.self), count: count)[1], 200)
    }
    tensor.anyTensor.mutableBytes { pointer, _, _ in pointer.storeBytes(of: Float(5), as: Float.self) }
    XCTAssertEqual(tensor.scalars()[0], 5)
  }

  /// IOS-16: resizing only to shapes with the same number of elements, and not if the shape is static.
  func testIOS16Resize() throws {
    let tensor = Tensor<Float>([1, 2, 3, 4], shape: [2, 2])
    try tensor.resize(to: [4, 1])
    XCTAssertEqual(tensor.shape, [4, 1])
    XCTAssertEqual(tensor.strides, [1, 1])
    expectError(.invalidArgument, "4 elements") { try tensor.resize(to: [5]) }
    let fixed = AnyTensor.zeros(shape: [2, 2], dataType: .float, shapeDynamism: .static)
    expectError(.notSupported, "static") { try fixed.resize(to: [4]) }
    XCTAssertEqual(fixed.shape, [2, 2])
  }

  /// IOS-17: equality ignores dynamism, but not strides.
  func testIOS17Equality() {
    let tensor = AnyTensor.full(shape: [2, 2], scalar: 3, dataType: .int)
    XCTAssertEqual(tensor, AnyTensor.full(shape: [2, 2], scalar: 3, dataType: .int, shapeDynamism: .static))
    XCTAssertNotEqual(tensor, AnyTensor.full(shape: [2, 2], scalar: 3, strides: [1, 2], dataType: .int))
    XCTAssertNotEqual(tensor, AnyTensor.full(shape: [4], scalar: 3, dataType: .int))
    XCTAssertNotEqual(tensor, AnyTensor.full(shape: [2, 2], scalar: 4, dataType: .int))
    XCTAssertNotEqual(tensor, AnyTensor.full(shape: [2, 2], scalar: 3, dataType: .uInt32))
  }

  /// IOS-18: the text has the type, the shape and the elements in row-major order.
  func testIOS18Description() {
    XCTAssertEqual("\(Tensor<Int32>([1, 2], shape: [2, 1]))", "Tensor(dataType: int, shape: [2, 1], scalars: [1, 2])")
    let transposed = AnyTensor(Tensor<Int32>([1, 2, 3, 4]).anyTensor, shape: [2, 2], dimensionOrder: [1, 0])
    XCTAssertTrue("\(transposed)".hasSuffix("[1, 3, 2, 4])"), "\(transposed)")
    XCTAssertTrue("\(Tensor<Bool>.ones(shape: [1000]))".hasSuffix("true, ... 900 more])"))
  }

  func testElementsOfEveryTypeAreConverted() {
    let types: [DataType] = [
      .byte, .char, .short, .int, .long, .half, .float, .double, .bool, .bFloat16, .uInt16, .uInt32, .uInt64,
    ]
    let numbers = Tensor<Double>([0, 1, 2, 100])
    for type in types {
      let converted = numbers.anyTensor.copy(to: type)
      XCTAssertEqual(converted.dataType, type)
      let back: Tensor<Double> = converted.copy(to: .double).asTensor()!
      XCTAssertEqual(back.scalars(), type == .bool ? [0, 1, 1, 1] : [0, 1, 2, 100], "\(type)")
    }
    XCTAssertEqual(Tensor<Double>([-1.9, 1.9]).copy(to: Int.self).scalars(), [-1, 1])
    XCTAssertEqual(Tensor<Int64>([.max, .min]).copy(to: Int64.self).scalars(), [.max, .min])
    XCTAssertEqual(Tensor<UInt64>([.max]).copy(to: UInt64.self).scalars(), [.max])
  }

  /// Compares all halves with Swift's own conversion.
  func testHalvesAreRoundedAsFloat16() {
    let bits = (0...UInt16.max).map { $0 }.filter { !Float16(bitPattern: $0).isNaN }
    let halves = Tensor<Float16>(bits.map { Float16(bitPattern: $0) })
    XCTAssertEqual(halves.copy(to: Float.self).scalars(), bits.map { Float(Float16(bitPattern: $0)) })
    var generator = SystemRandomNumberGenerator()
    let floats = (0..<20000).map { _ in Float(bitPattern: generator.next()) }.filter { !$0.isNaN }
      + [65519, 65520, 0x1p-25, 0x1.8p-25, 0x1p-14, -0.0]
    XCTAssertEqual(
      Tensor<Float>(floats).copy(to: Float16.self).scalars().map(\.bitPattern), floats.map { Float16($0).bitPattern })
  }

  func testLayoutsThatContradictThemselvesAreRefused() {
    expectError(.invalidArgument, "[3, 1]") { _ = try TensorLayout(shape: [2, 3], strides: [4, 1]) }
    expectError(.invalidArgument, "dimension order") {
      _ = try TensorLayout(shape: [2, 3], dimensionOrder: [0, 0], strides: [])
    }
    expectError(.invalidArgument, "2 strides") { _ = try TensorLayout(shape: [2, 3], strides: [1]) }
    expectError(.invalidArgument, "16 dimensions") {
      _ = try TensorLayout(shape: [Int](repeating: 1, count: 17), strides: [])
    }
    expectError(.invalidArgument, "sizes from 0") { _ = try TensorLayout(shape: [-1], strides: []) }
    expectError(.invalidArgument, "more bytes") {
      _ = try TensorLayout(shape: [2_000_000_000, 2_000_000_000, 2_000_000_000], strides: [])
    }
  }

  func testSizesAndCounts() {
    XCTAssertEqual(elementCount(ofShape: []), 1)
    XCTAssertEqual(elementCount(ofShape: [2, 0, 3]), 0)
    XCTAssertEqual(size(ofDataType: .double), 8)
    XCTAssertEqual(size(ofDataType: .bFloat16), 2)
    XCTAssertEqual(size(ofDataType: .undefined), 0)
  }
}

/// Runs `body`, which must throw an error with this code and a message that contains `part`.
func expectError(
  _ code: ErrorCode, _ part: String, file: StaticString = #filePath, line: UInt = #line, _ body: () throws -> Void
) {
  do {
    try body()
    XCTFail("expected an error with \"\(part)\"", file: file, line: line)
  } catch let error as ExecuTorchError {
    XCTAssertEqual(error.code, code, "\(error)", file: file, line: line)
    XCTAssertTrue(error.message.contains(part), "\(error)", file: file, line: line)
  } catch {
    XCTFail("expected an ExecuTorchError, found \(error)", file: file, line: line)
  }
}
