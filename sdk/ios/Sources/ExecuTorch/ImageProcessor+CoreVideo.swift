// SPDX-License-Identifier: BSD-3-Clause
#if canImport(CoreVideo)
  import CoreVideo

  extension ImageProcessor {
    /// The tensor of a camera's frame: with four bytes per pixel (BGRA or RGBA), or with two planes (4:2:0).
    /// - Throws: `notSupported` for other formats, naming this one; `accessFailed` if the pixels cannot be read.
    public func process(_ pixelBuffer: CVPixelBuffer, orientation: ImageOrientation = .up) throws -> Tensor<Float> {
      let output = Tensor<Float>.empty(shape: [1, 3, max(config.targetHeight, 0), max(config.targetWidth, 0)])
      try process(pixelBuffer, orientation: orientation, into: output)
      return output
    }

    /// The same, written into an existing tensor.
    public func process(
      _ pixelBuffer: CVPixelBuffer, orientation: ImageOrientation = .up, into output: Tensor<Float>
    ) throws {
      let type = CVPixelBufferGetPixelFormatType(pixelBuffer)
      let formats: [OSType: ImagePixelFormat] = [
        kCVPixelFormatType_32BGRA: .bgra, kCVPixelFormatType_32RGBA: .rgba,
        kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange: .nv12,
        kCVPixelFormatType_420YpCbCr8BiPlanarFullRange: .nv12FullRange,
      ]
      guard let format = formats[type] else {
        let text = String(decoding: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: type >> $0) }, as: UTF8.self)
        throw ExecuTorchError(
          code: .notSupported,
          description: "expected pixels of the format BGRA, RGBA, 420v or 420f, found '\(text)': ask the camera for one of these")
      }
      guard CVPixelBufferLockBaseAddress(pixelBuffer, .readOnly) == kCVReturnSuccess else {
        throw ExecuTorchError(code: .accessFailed, description: "the pixels of the buffer cannot be locked for reading")
      }
      defer { CVPixelBufferUnlockBaseAddress(pixelBuffer, .readOnly) }
      let isPlanar = CVPixelBufferIsPlanar(pixelBuffer)
      let base = isPlanar ? CVPixelBufferGetBaseAddressOfPlane(pixelBuffer, 0) : CVPixelBufferGetBaseAddress(pixelBuffer)
      guard let base else {
        throw ExecuTorchError(code: .accessFailed, description: "the buffer has no pixels in memory")
      }
      try process(
        base, width: CVPixelBufferGetWidth(pixelBuffer), height: CVPixelBufferGetHeight(pixelBuffer),
        bytesPerRow: isPlanar ? CVPixelBufferGetBytesPerRowOfPlane(pixelBuffer, 0) : CVPixelBufferGetBytesPerRow(pixelBuffer),
        format: format, chroma: isPlanar ? CVPixelBufferGetBaseAddressOfPlane(pixelBuffer, 1) : nil,
        chromaBytesPerRow: isPlanar ? CVPixelBufferGetBytesPerRowOfPlane(pixelBuffer, 1) : 0, orientation: orientation,
        into: output)
    }
  }
#endif
