// SPDX-License-Identifier: BSD-3-Clause
// Inputs of Apple's frameworks; on Linux they are stand-ins (Tests/StandIns).
#if canImport(CoreML) && canImport(Metal) && canImport(CoreVideo)
  import CoreML
  import CoreVideo
  import Foundation
  import Metal
  import XCTest

  @testable import ExecuTorch

  final class FrameworkTests: XCTestCase {
    private func multiArray<T>(
      _ elements: [T], _ shape: [Int], _ strides: [Int], _ type: MLMultiArrayDataType, freed: @escaping () -> Void = {}
    ) throws -> MLMultiArray {
      let memory = UnsafeMutablePointer<T>.allocate(capacity: elements.count)
      memory.initialize(from: elements, count: elements.count)
      return try MLMultiArray(
        dataPointer: memory, shape: shape.map { NSNumber(value: $0) }, dataType: type,
        strides: strides.map { NSNumber(value: $0) },
        deallocator: {
          $0.deallocate()
          freed()
        })
    }

    func testAMultiArrayIsNotCopied() throws {
      let array = try multiArray([1, 2, 3, 4, 5, 6] as [Float], [2, 3], [3, 1], .float32)
      let tensor = try Tensor<Float>(AnyTensor(array))
      XCTAssertEqual(tensor.shape, [2, 3])
      XCTAssertEqual(tensor.scalars(), [1, 2, 3, 4, 5, 6])
      array.dataPointer.assumingMemoryBound(to: Float.self)[5] = 7
      XCTAssertEqual(tensor.scalars()[5], 7)
      let sum: Tensor<Float> = try Corpus.module("add").forward([tensor, Tensor<Float>.ones(shape: [2, 3])])
      XCTAssertEqual(sum.scalars(), [2, 3, 4, 5, 6, 8])
    }

    /// A column-major multi-array becomes a tensor with another dimension order, without a copy.
    func testAMultiArrayMayHaveAnotherOrderOfDimensions() throws {
      let array = try multiArray([1, 4, 2, 5, 3, 6] as [Int32], [2, 3], [1, 2], .int32)
      let tensor = try AnyTensor(array)
      XCTAssertEqual(tensor.dimensionOrder, [1, 0])
      XCTAssertEqual(tensor.strides, [1, 2])
      XCTAssertEqual(tensor.bytes { pointer, _, _ in UnsafeMutableRawPointer(mutating: pointer) }, array.dataPointer)
      XCTAssertEqual(Tensor<Int32>(tensor).scalars(), [1, 4, 2, 5, 3, 6])
    }

    /// A multi-array with an unused fourth element in each row is copied.
    func testAMultiArrayWithGapsIsCopied() throws {
      let array = try multiArray([1, 2, 3, -1, 4, 5, 6, -1] as [Double], [2, 3], [4, 1], .double)
      let tensor = try Tensor<Double>(AnyTensor(array))
      XCTAssertEqual(tensor.strides, [3, 1])
      XCTAssertEqual(tensor.scalars(), [1, 2, 3, 4, 5, 6])
      array.dataPointer.assumingMemoryBound(to: Double.self)[0] = 9
      XCTAssertEqual(tensor.scalars()[0], 1)
      // A column-major multi-array with gaps becomes a row-major tensor.
      let turned = try multiArray([1, 4, 0, 2, 5, 0, 3, 6, 0] as [Int8], [2, 3], [1, 3], .int8)
      XCTAssertEqual(Tensor<Int8>(try AnyTensor(turned)).scalars(), [1, 2, 3, 4, 5, 6])
    }

    func testAMultiArrayLivesAsLongAsItsTensor() throws {
      let freed = UnsafeMutablePointer<Int>.allocate(capacity: 1)
      freed.initialize(to: 0)
      defer { freed.deallocate() }
      do {
        var tensor: AnyTensor? = try AnyTensor(
          multiArray([0x3C00, 0x4000] as [UInt16], [2], [1], .float16, freed: { freed.pointee += 1 }))
        XCTAssertEqual(freed.pointee, 0)
        XCTAssertEqual(tensor!.dataType, .half)
        XCTAssertEqual(Tensor<Float>(tensor!.copy(to: .float)).scalars(), [1, 2])
        tensor = nil
      }
      XCTAssertEqual(freed.pointee, 1)
      let none = try multiArray([] as [Float], [0, 3], [3, 1], .float32)
      XCTAssertEqual(try AnyTensor(none).shape, [0, 3])
    }

    private final class Buffer: MTLBuffer {
      let length: Int
      let storageMode: MTLStorageMode
      private let memory: UnsafeMutableRawPointer

      init(_ elements: [Float], _ storageMode: MTLStorageMode = .shared) {
        length = elements.count * 4
        self.storageMode = storageMode
        memory = .allocate(byteCount: length, alignment: 64)
        memory.copyMemory(from: elements, byteCount: length)
      }

      deinit { memory.deallocate() }

      func contents() -> UnsafeMutableRawPointer { memory }
    }

    func testAMetalBufferIsNotCopied() throws {
      var buffer: Buffer? = Buffer([0, 1, 2, 3, 4, 5, 6])
      weak var same = buffer
      var tensor: AnyTensor? = try AnyTensor(buffer!, offset: 4, shape: [2, 3], dataType: .float)
      buffer!.contents().assumingMemoryBound(to: Float.self)[1] = 9
      XCTAssertEqual(Tensor<Float>(tensor!).scalars(), [9, 2, 3, 4, 5, 6])
      buffer = nil
      XCTAssertNotNil(same)
      tensor = nil
      XCTAssertNil(same)
      expectError(.notSupported, "only the GPU") { _ = try AnyTensor(Buffer([1], .private), shape: [1], dataType: .float) }
      for (offset, shape) in [(0, [2]), (2, [1]), (-4, [1]), (8, [1])] {
        expectError(.invalidArgument, "found a buffer of 4 bytes and the offset \(offset)") {
          _ = try AnyTensor(Buffer([1]), offset: offset, shape: shape, dataType: .float)
        }
      }
    }

    func testAFrameOfTheCameraBecomesATensor() throws {
      let plain = ImageNormalization(scaleFactor: 1, mean: [0, 0, 0], standardDeviation: [1, 1, 1])
      let processor = ImageProcessor(ImageProcessorConfig(targetWidth: 2, targetHeight: 1, normalization: plain))
      let bgra = CVPixelBuffer(
        type: kCVPixelFormatType_32BGRA, isPlanar: false, planes: [([3, 2, 1, 255, 6, 5, 4, 0], 2, 1, 8)])
      XCTAssertEqual(try processor.process(bgra).scalars(), [1, 4, 2, 5, 3, 6])
      XCTAssertEqual(bgra.lockCount, 0)
      let frame = CVPixelBuffer(
        type: kCVPixelFormatType_420YpCbCr8BiPlanarFullRange, isPlanar: true,
        planes: [([0, 255, 0, 255], 2, 2, 2), ([128, 128], 1, 1, 2)])
      for (value, wanted) in zip(try processor.process(frame).scalars(), [0, 255, 0, 255, 0, 255] as [Float]) {
        XCTAssertEqual(value, wanted, accuracy: 0.01)
      }
      let rgb = CVPixelBuffer(type: kCVPixelFormatType_24RGB, isPlanar: false, planes: [([1, 2, 3], 1, 1, 3)])
      expectError(.notSupported, "found") { _ = try processor.process(rgb) }
      let busy = CVPixelBuffer(
        type: kCVPixelFormatType_32BGRA, isPlanar: false, planes: [([3, 2, 1, 255], 1, 1, 4)], canLock: false)
      expectError(.accessFailed, "locked") { _ = try processor.process(busy) }
    }
  }
#endif
