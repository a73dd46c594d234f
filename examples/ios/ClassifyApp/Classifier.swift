// SPDX-License-Identifier: BSD-3-Clause
import CoreGraphics
import ExecuTorch
import Foundation

/// MobileNetV2 from the app's resources.
struct Classifier {
  struct Result: Sendable {
    let best: [(index: Int, probability: Float)]
    let milliseconds: Double
  }

  /// An image is 224 by 224, with these means and deviations of its channels.
  private static let side = 224
  private static let mean: [Float] = [0.485, 0.456, 0.406]
  private static let deviation: [Float] = [0.229, 0.224, 0.225]

  private let module: AsyncModule?

  init() {
    module = Bundle.main.path(forResource: "mobilenet_v2", ofType: "pte").map { AsyncModule(filePath: $0, loadMode: .mmap) }
  }

  func classify(_ image: CGImage) async throws -> Result {
    guard let module else {
      throw ExecuTorchError(code: .notFound, description: "mobilenet_v2.pte is not among the app's resources")
    }
    let input = try Classifier.tensor(of: image)
    let start = ContinuousClock.now
    let output: Tensor<Float> = try await module.forward(input)
    let elapsed = ContinuousClock.now - start
    return Result(best: Classifier.best(of: output.scalars(), count: 5), milliseconds: elapsed / .milliseconds(1))
  }

  /// The pixels by channel: [1, 3, 224, 224].
  private static func tensor(of image: CGImage) throws -> sending Tensor<Float> {
    var pixels = [UInt8](repeating: 0, count: side * side * 4)
    let context = CGContext(
      data: &pixels, width: side, height: side, bitsPerComponent: 8, bytesPerRow: side * 4,
      space: CGColorSpaceCreateDeviceRGB(), bitmapInfo: CGImageAlphaInfo.noneSkipLast.rawValue)
    guard let context else {
      throw ExecuTorchError(code: .memoryAllocationFailed, description: "no memory for an image of \(side) by \(side)")
    }
    context.draw(image, in: CGRect(x: 0, y: 0, width: side, height: side))
    let tensor = Tensor<Float>.empty(shape: [1, 3, side, side])
    tensor.withUnsafeMutableBytes { values in
      for channel in 0..<3 {
        for pixel in 0..<side * side {
          let value = Float(pixels[pixel * 4 + channel]) / 255
          values[channel * side * side + pixel] = (value - mean[channel]) / deviation[channel]
        }
      }
    }
    return tensor
  }

  private static func best(of scores: [Float], count: Int) -> [(index: Int, probability: Float)] {
    let largest = scores.max() ?? 0
    let powers = scores.map { exp($0 - largest) }
    let sum = powers.reduce(0, +)
    return powers.enumerated().sorted { $0.element > $1.element }.prefix(count).map { ($0.offset, $0.element / sum) }
  }
}
