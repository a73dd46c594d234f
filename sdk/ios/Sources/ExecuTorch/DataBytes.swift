// SPDX-License-Identifier: BSD-3-Clause
import Foundation

/// The bytes of a `Data` where they are, for as long as this lives. An `NSData` would say so too, but on Linux making one
/// copies them.
final class DataBytes: @unchecked Sendable {
  let base: UnsafeRawPointer
  let count: Int
  private let data: Data  // never changed: whoever changes another `Data` of the same bytes gets a copy of them
  private let ownMemory: UnsafeMutableRawPointer?

  init(_ data: Data) {
    self.data = data
    count = data.count
    // A few bytes (14 at most) are inside of the value itself, which has no address of its own.
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
