// SPDX-License-Identifier: BSD-3-Clause
import Foundation

/// The bytes of a `Data` at a fixed address, for as long as this object lives. An `NSData` would give the address too,
/// but on Linux making one copies the bytes.
final class DataBytes: @unchecked Sendable {
  let base: UnsafeRawPointer
  let count: Int
  private let data: Data  // never changed: a change to another `Data` of the same bytes copies them first
  private let ownMemory: UnsafeMutableRawPointer?

  init(_ data: Data) {
    self.data = data
    count = data.count
    // A `Data` of up to 14 bytes stores them inside the value, which has no fixed address.
    guard data.count < 64 else {
      ownMemory = nil
      base = data.withUnsafeBytes { $0.baseAddress! }
      return
    }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
    data.withUnsafeBytes { bytes in
      if let start = bytes.baseAddress { memory.copyMemory(from: start, byteCount: bytes.count) }
    }
    ownMemory = memory
    base = UnsafeRawPointer(memory)
  }

  deinit {
    ownMemory?.deallocate()
  }
}
