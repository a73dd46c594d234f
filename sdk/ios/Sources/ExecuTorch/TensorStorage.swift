// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// The memory of one or several tensors.
final class TensorStorage {
  private enum Owner {
    /// Memory that this storage frees.
    case own(UnsafeMutableRawPointer)
    /// Memory of the caller, who keeps it valid.
    case borrowed
    /// Memory of an object, which this storage keeps alive.
    case part(AnyObject)
    /// Bytes of a `Data` that may have other users: they are copied before the first change.
    case shared(DataBytes)
    /// Memory of a module, valid until its method runs again.
    case output(ExecutionResult)
  }

  private(set) var base: UnsafeMutableRawPointer
  let byteCount: Int
  private var owner: Owner

  /// Changes whenever `base` does.
  private(set) var generation = 0

  private init(base: UnsafeMutableRawPointer, byteCount: Int, owner: Owner) {
    self.base = base
    self.byteCount = byteCount
    self.owner = owner
  }

  deinit {
    if case .own(let memory) = owner { memory.deallocate() }
  }

  /// Aligned like the runtime's own tensors: to cache lines and vector registers.
  private static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
    .allocate(byteCount: max(byteCount, 1), alignment: 64)
  }

  /// Memory of undefined content.
  static func uninitialized(byteCount: Int) -> TensorStorage {
    let memory = allocate(byteCount)
    return TensorStorage(base: memory, byteCount: byteCount, owner: .own(memory))
  }

  static func zeroed(byteCount: Int) -> TensorStorage {
    let storage = uninitialized(byteCount: byteCount)
    memset(storage.base, 0, byteCount)
    return storage
  }

  static func copy(of bytes: UnsafeRawPointer, byteCount: Int) -> TensorStorage {
    let storage = uninitialized(byteCount: byteCount)
    storage.base.copyMemory(from: bytes, byteCount: byteCount)
    return storage
  }

  static func borrowing(_ bytes: UnsafeMutableRawPointer, byteCount: Int) -> TensorStorage {
    TensorStorage(base: bytes, byteCount: byteCount, owner: .borrowed)
  }

  static func part(of owner: AnyObject, at base: UnsafeMutableRawPointer, byteCount: Int) -> TensorStorage {
    TensorStorage(base: base, byteCount: byteCount, owner: .part(owner))
  }

  /// Uses the bytes of `data` in place, or copies them if they are not aligned to `alignment`.
  static func sharing(_ data: Data, byteCount: Int, alignment: Int) -> TensorStorage {
    let bytes = DataBytes(data)
    guard Int(bitPattern: bytes.base) % alignment == 0 else {
      return withExtendedLifetime(bytes) { copy(of: bytes.base, byteCount: byteCount) }
    }
    return TensorStorage(
      base: UnsafeMutableRawPointer(mutating: bytes.base), byteCount: byteCount, owner: .shared(bytes))
  }

  /// The memory of an output, which `result` holds.
  static func output(
    at base: UnsafeMutableRawPointer?, byteCount: Int, of result: ExecutionResult
  ) -> TensorStorage {
    // An output without elements may have no address.
    guard let base else { return uninitialized(byteCount: byteCount) }
    let storage = TensorStorage(base: base, byteCount: byteCount, owner: .output(result))
    result.add(storage)
    return storage
  }

  /// Copies an output out of its module's memory.
  func detach() {
    if case .output = owner { moveToOwnMemory() }
  }

  /// Copies memory that may have other users. Must be called before the memory is changed.
  func prepareForMutation() {
    if case .shared = owner { moveToOwnMemory() }
  }

  private func moveToOwnMemory() {
    let memory = TensorStorage.allocate(byteCount)
    memory.copyMemory(from: base, byteCount: byteCount)
    base = memory
    owner = .own(memory)
    generation += 1
  }
}

/// The outputs of a run, in the module's memory. The tensors that are made of them keep this object alive.
final class ExecutionResult {
  let handle: OpaquePointer
  private struct WeakStorage { weak var storage: TensorStorage? }
  private var storages: [WeakStorage] = []

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    et_result_free(handle)
  }

  func add(_ storage: TensorStorage) {
    storages.append(WeakStorage(storage: storage))
  }

  /// Copies the outputs that are still used, because the next run overwrites the memory.
  func detachTensors() {
    for weak in storages { weak.storage?.detach() }
    storages = []
  }
}
