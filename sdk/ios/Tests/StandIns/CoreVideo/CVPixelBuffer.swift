// SPDX-License-Identifier: BSD-3-Clause

public typealias OSType = UInt32
public typealias CVReturn = Int32

public let kCVReturnSuccess: CVReturn = 0
public let kCVReturnError: CVReturn = -6660
public let kCVPixelFormatType_32BGRA: OSType = 0x4247_5241
public let kCVPixelFormatType_32RGBA: OSType = 0x5247_4241
public let kCVPixelFormatType_24RGB: OSType = 24
public let kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange: OSType = 0x3432_3076
public let kCVPixelFormatType_420YpCbCr8BiPlanarFullRange: OSType = 0x3432_3066

public struct CVPixelBufferLockFlags: OptionSet, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  public static let readOnly = CVPixelBufferLockFlags(rawValue: 1)
}

public final class CVPixelBuffer {
  public struct Plane {
    public let width, height, bytesPerRow: Int
    public let bytes: UnsafeMutablePointer<UInt8>
  }

  let type: OSType
  let isPlanar: Bool
  let planes: [Plane]
  let canLock: Bool
  /// Only in this stand-in.
  public private(set) var lockCount = 0

  /// Only in this stand-in. Each plane has its bytes, its width and height, and the number of bytes in a row.
  public init(type: OSType, isPlanar: Bool, planes: [(bytes: [UInt8], width: Int, height: Int, bytesPerRow: Int)], canLock: Bool = true) {
    self.type = type
    self.isPlanar = isPlanar
    self.canLock = canLock
    self.planes = planes.map { plane in
      let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: plane.bytes.count)
      bytes.initialize(from: plane.bytes, count: plane.bytes.count)
      return Plane(width: plane.width, height: plane.height, bytesPerRow: plane.bytesPerRow, bytes: bytes)
    }
  }

  deinit {
    planes.forEach { $0.bytes.deallocate() }
  }

  func lock() -> CVReturn {
    guard canLock else { return kCVReturnError }
    lockCount += 1
    return kCVReturnSuccess
  }

  func unlock() -> CVReturn {
    lockCount -= 1
    return kCVReturnSuccess
  }

  /// Without a lock there are no addresses.
  func base(_ plane: Int) -> UnsafeMutableRawPointer? {
    lockCount > 0 ? UnsafeMutableRawPointer(planes[plane].bytes) : nil
  }
}

public func CVPixelBufferGetPixelFormatType(_ buffer: CVPixelBuffer) -> OSType { buffer.type }
@discardableResult
public func CVPixelBufferLockBaseAddress(_ buffer: CVPixelBuffer, _ flags: CVPixelBufferLockFlags) -> CVReturn { buffer.lock() }
@discardableResult
public func CVPixelBufferUnlockBaseAddress(_ buffer: CVPixelBuffer, _ flags: CVPixelBufferLockFlags) -> CVReturn { buffer.unlock() }
public func CVPixelBufferIsPlanar(_ buffer: CVPixelBuffer) -> Bool { buffer.isPlanar }
public func CVPixelBufferGetWidth(_ buffer: CVPixelBuffer) -> Int { buffer.planes[0].width }
public func CVPixelBufferGetHeight(_ buffer: CVPixelBuffer) -> Int { buffer.planes[0].height }
public func CVPixelBufferGetBytesPerRow(_ buffer: CVPixelBuffer) -> Int { buffer.planes[0].bytesPerRow }
public func CVPixelBufferGetBaseAddress(_ buffer: CVPixelBuffer) -> UnsafeMutableRawPointer? { buffer.base(0) }
public func CVPixelBufferGetBytesPerRowOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> Int { buffer.planes[plane].bytesPerRow }
public func CVPixelBufferGetBaseAddressOfPlane(_ buffer: CVPixelBuffer, _ plane: Int) -> UnsafeMutableRawPointer? {
  buffer.base(plane)
}
