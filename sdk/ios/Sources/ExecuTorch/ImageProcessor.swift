// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch

/// How an image is scaled to the size of the target.
public enum ImageResizeMode: UInt8, Sendable {
  /// Width and height are scaled separately, so the aspect ratio changes.
  case stretch = 0
  /// The aspect ratio is kept, and the rest of the target is padding.
  case letterbox = 1
}

/// The position of the image in a letterbox.
public enum ImageLetterboxAnchor: UInt8, Sendable {
  case center = 0
  case topLeft = 1
}

/// How a stored image is turned to be displayed. The raw values are those of Exif and `CGImagePropertyOrientation`.
public enum ImageOrientation: Int32, Sendable {
  case up = 1
  case down = 3
  /// Clockwise by 90 degrees.
  case right = 6
  /// Counterclockwise by 90 degrees.
  case left = 8
}

/// The layout of pixels in memory.
public enum ImagePixelFormat: Int32, Sendable {
  /// Four bytes; alpha is ignored.
  case bgra = 0
  case rgba = 1
  /// Luma (16 to 235), and chroma (16 to 240, blue first) at half the width and height; ITU-R BT.601.
  case nv12 = 2
  /// As `nv12`, with red chroma first.
  case nv21 = 3
  /// As `nv12`, with luma and chroma from 0 to 255.
  case nv12FullRange = 4
  /// As `nv21`, with luma and chroma from 0 to 255.
  case nv21FullRange = 5
}

/// Element = (byte * scaleFactor - mean) / standardDeviation, by channel: red, green, blue.
public struct ImageNormalization: Hashable, Sendable {
  public let scaleFactor: Float
  public let mean: [Float]
  public let standardDeviation: [Float]

  /// - Parameters:
  ///   - mean: three numbers or more; only the first three are used. The same holds for the deviations, which are
  ///     positive.
  public init(scaleFactor: Float, mean: [Float], standardDeviation: [Float]) {
    precondition(
      mean.count >= 3 && standardDeviation.count >= 3,
      "expected a mean and a deviation for each of three channels, found \(mean) and \(standardDeviation)")
    self.scaleFactor = scaleFactor
    self.mean = Array(mean.prefix(3))
    self.standardDeviation = Array(standardDeviation.prefix(3))
  }

  /// Bytes from 0 to 255 become 0 to 1.
  public static func zeroToOne() -> ImageNormalization {
    ImageNormalization(scaleFactor: 1 / 255, mean: [0, 0, 0], standardDeviation: [1, 1, 1])
  }

  /// The mean and the standard deviation of ImageNet, which torchvision's models are trained with.
  public static func imagenet() -> ImageNormalization {
    ImageNormalization(scaleFactor: 1 / 255, mean: [0.485, 0.456, 0.406], standardDeviation: [0.229, 0.224, 0.225])
  }
}

/// The size and the normalization of the tensors that images become.
public struct ImageProcessorConfig: Hashable, Sendable {
  public let targetWidth: Int
  public let targetHeight: Int
  public let resizeMode: ImageResizeMode
  public let letterboxAnchor: ImageLetterboxAnchor
  /// The value of padding elements; it is not normalized.
  public let padValue: Float
  public let normalization: ImageNormalization
  /// Has no effect, because this processor does not use a GPU. In ExecuTorch it is the number of pixels from which a
  /// GPU is used.
  public let gpuMinInputPixels: Int

  public init(
    targetWidth: Int = 224, targetHeight: Int = 224, resizeMode: ImageResizeMode = .stretch,
    letterboxAnchor: ImageLetterboxAnchor = .center, padValue: Float = 0,
    normalization: ImageNormalization = .zeroToOne(), gpuMinInputPixels: Int = 1920 * 1080 + 1
  ) {
    self.targetWidth = targetWidth
    self.targetHeight = targetHeight
    self.resizeMode = resizeMode
    self.letterboxAnchor = letterboxAnchor
    self.padValue = padValue
    self.normalization = normalization
    self.gpuMinInputPixels = gpuMinInputPixels
  }

  fileprivate var options: et_image_options {
    let resize =
      resizeMode == .stretch
      ? ET_IMAGE_RESIZE_STRETCH
      : letterboxAnchor == .center ? ET_IMAGE_RESIZE_LETTERBOX : ET_IMAGE_RESIZE_LETTERBOX_TOP_LEFT
    return et_image_options(
      width: Int32(clamping: targetWidth), height: Int32(clamping: targetHeight), resize: et_image_resize(resize),
      pad_value: padValue, scale_factor: normalization.scaleFactor,
      mean: (normalization.mean[0], normalization.mean[1], normalization.mean[2]),
      std_dev: (
        normalization.standardDeviation[0], normalization.standardDeviation[1], normalization.standardDeviation[2]
      ))
  }
}

/// Converts pixels of a camera or a decoder to the tensor that a vision model takes: `[1, 3, targetHeight,
/// targetWidth]`, red first. Scaling is bilinear with pixel centres at halves, like PyTorch's `interpolate` with
/// `align_corners=False`. Any thread may use it.
public final class ImageProcessor: Sendable {
  public let config: ImageProcessorConfig

  public init(_ config: ImageProcessorConfig = ImageProcessorConfig()) {
    self.config = config
  }

  /// The tensor of an image in memory.
  /// - Parameters:
  ///   - pixels: rows of `bytesPerRow` bytes; in the NV12 and NV21 formats, the luma plane.
  ///   - chroma: in the NV12 and NV21 formats, the chroma plane.
  /// - Throws: `invalidArgument` for an image or a target without pixels, rows that are too short, or a missing chroma
  ///   plane.
  public func process(
    _ pixels: UnsafeRawPointer, width: Int, height: Int, bytesPerRow: Int, format: ImagePixelFormat,
    chroma: UnsafeRawPointer? = nil, chromaBytesPerRow: Int = 0, orientation: ImageOrientation = .up
  ) throws -> Tensor<Float> {
    let output = Tensor<Float>.empty(shape: [1, 3, max(config.targetHeight, 0), max(config.targetWidth, 0)])
    try process(
      pixels, width: width, height: height, bytesPerRow: bytesPerRow, format: format, chroma: chroma,
      chromaBytesPerRow: chromaBytesPerRow, orientation: orientation, into: output)
    return output
  }

  /// The same, written into an existing tensor, for example one that is reused for every frame of a camera.
  /// - Throws: `invalidArgument` also for a tensor of another shape.
  public func process(
    _ pixels: UnsafeRawPointer, width: Int, height: Int, bytesPerRow: Int, format: ImagePixelFormat,
    chroma: UnsafeRawPointer? = nil, chromaBytesPerRow: Int = 0, orientation: ImageOrientation = .up,
    into output: Tensor<Float>
  ) throws {
    var options = config.options
    var image = et_image(
      pixels: pixels, chroma: chroma, width: Int32(clamping: width), height: Int32(clamping: height),
      stride: Int32(clamping: bytesPerRow), chroma_stride: Int32(clamping: chromaBytesPerRow),
      format: et_pixel_format(format.rawValue), orientation: et_image_orientation(orientation.rawValue))
    let storage = output.anyTensor.storage
    storage.prepareForMutation()
    let tensor = try output.anyTensor.runtimeTensor()
    try withExtendedLifetime(output) {
      try check { et_image_to_tensor(&options, &image, tensor, $0) }
    }
  }

  /// The columns of padding to the left of an image of this size and the rows above it, for mapping positions in the
  /// output back to the image. (0, 0) for an image without pixels.
  public func computeLetterboxPadding(
    inputWidth: Int, inputHeight: Int, orientation: ImageOrientation = .up
  ) -> (x: Int, y: Int) {
    var options = config.options
    var image = et_image()
    image.width = Int32(clamping: inputWidth)
    image.height = Int32(clamping: inputHeight)
    image.orientation = et_image_orientation(orientation.rawValue)
    var left: Int32 = 0
    var above: Int32 = 0
    _ = et_image_padding(&options, &image, &left, &above, nil)
    return (Int(left), Int(above))
  }
}
