// SPDX-License-Identifier: BSD-3-Clause

public enum MTLStorageMode: UInt {
  case shared = 0
  case managed = 1
  case `private` = 2
  case memoryless = 3
}

public protocol MTLBuffer: AnyObject {
  var length: Int { get }
  var storageMode: MTLStorageMode { get }
  func contents() -> UnsafeMutableRawPointer
}
