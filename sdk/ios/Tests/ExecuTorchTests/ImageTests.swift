// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import XCTest

/// The tensors that images are converted to. On Apple systems `process` also takes a CVPixelBuffer; it calls the
/// function that is tested here.
final class ImageTests: XCTestCase {
  /// Leaves bytes as they are.
  private let plain = ImageNormalization(scaleFactor: 1, mean: [0, 0, 0], standardDeviation: [1, 1, 1])
  /// Two pixels.
  private let rgba: [UInt8] = [1, 2, 3, 255, 4, 5, 6, 0]

  func testPixelsBecomePlanesThatAreNormalized() throws {
    let processor = ImageProcessor(ImageProcessorConfig(targetWidth: 2, targetHeight: 1, normalization: plain))
    let tensor = try processor.process(rgba, width: 2, height: 1, bytesPerRow: 8, format: .rgba)
    XCTAssertEqual(tensor.shape, [1, 3, 1, 2])
    XCTAssertEqual(tensor.scalars(), [1, 4, 2, 5, 3, 6])
    let turned = try processor.process(rgba, width: 2, height: 1, bytesPerRow: 8, format: .bgra, orientation: .down)
    XCTAssertEqual(turned.scalars(), [6, 3, 5, 2, 4, 1])
    let other = ImageNormalization(scaleFactor: 2, mean: [0, 4, 0], standardDeviation: [1, 1, 0.5])
    let normalized = try ImageProcessor(ImageProcessorConfig(targetWidth: 2, targetHeight: 1, normalization: other))
      .process(rgba, width: 2, height: 1, bytesPerRow: 8, format: .rgba)
    XCTAssertEqual(normalized.scalars(), [2, 8, 0, 6, 12, 24])
    XCTAssertEqual(ImageNormalization.zeroToOne().scaleFactor, 1 / 255)
    XCTAssertEqual(ImageNormalization.imagenet().mean, [0.485, 0.456, 0.406])
  }

  func testAFrameGoesIntoATensorThatIsThere() throws {
    let processor = ImageProcessor(ImageProcessorConfig(targetWidth: 2, targetHeight: 1, normalization: plain))
    let output = Tensor<Float>.zeros(shape: [1, 3, 1, 2])
    let address = output.withUnsafeBytes { $0.baseAddress! }
    try processor.process(
      [16, 235, 16, 235] as [UInt8], width: 2, height: 2, bytesPerRow: 2, format: .nv12, chroma: [128, 128] as [UInt8],
      chromaBytesPerRow: 2, into: output)
    XCTAssertEqual(output.withUnsafeBytes { $0.baseAddress! }, address)
    for (value, wanted) in zip(output.scalars(), [0, 255, 0, 255, 0, 255] as [Float]) {
      XCTAssertEqual(value, wanted, accuracy: 0.01)
    }
    expectError(.invalidArgument, "[1, 3, 1, 2]") {
      try processor.process(
        rgba, width: 2, height: 1, bytesPerRow: 8, format: .rgba, into: Tensor<Float>.zeros(shape: [1, 3, 2, 2]))
    }
    expectError(.invalidArgument, "the stride is 4") {
      _ = try processor.process(rgba, width: 2, height: 1, bytesPerRow: 4, format: .rgba)
    }
    expectError(.invalidArgument, "chroma is a null pointer") {
      _ = try processor.process(rgba, width: 4, height: 2, bytesPerRow: 4, format: .nv21FullRange)
    }
    expectError(.invalidArgument, "target") {
      _ = try ImageProcessor(ImageProcessorConfig(targetWidth: -1)).process(
        rgba, width: 2, height: 1, bytesPerRow: 8, format: .rgba)
    }
  }

  func testALetterboxIsWhereItIsSaid() throws {
    func padding(_ anchor: ImageLetterboxAnchor, _ orientation: ImageOrientation = .up) -> [Int] {
      let config = ImageProcessorConfig(targetWidth: 4, targetHeight: 4, resizeMode: .letterbox, letterboxAnchor: anchor)
      let found = ImageProcessor(config).computeLetterboxPadding(inputWidth: 2, inputHeight: 1, orientation: orientation)
      return [found.x, found.y]
    }
    XCTAssertEqual(padding(.center), [0, 1])
    XCTAssertEqual(padding(.center, .right), [1, 0])
    XCTAssertEqual(padding(.topLeft, .left), [0, 0])
    let config = ImageProcessorConfig(
      targetWidth: 4, targetHeight: 4, resizeMode: .letterbox, padValue: -7, normalization: plain, gpuMinInputPixels: 0)
    let tensor = try ImageProcessor(config).process(rgba, width: 2, height: 1, bytesPerRow: 8, format: .rgba)
    XCTAssertEqual(Array(tensor.scalars()[0..<4]), [-7, -7, -7, -7])
    XCTAssertEqual(tensor.scalars()[4], 1)
    XCTAssertEqual(ImageProcessor().computeLetterboxPadding(inputWidth: 0, inputHeight: 0).x, 0)
    XCTAssertEqual(ImageProcessor().config, ImageProcessorConfig())
  }
}
