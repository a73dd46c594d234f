// SPDX-License-Identifier: BSD-3-Clause
import Foundation

/// A module for asynchronous code and for many threads. Calls do not block the caller; they run one after another on a
/// queue of the module. Outputs are copies.
///
/// Every call throws `CancellationError` when its task is cancelled. A call that still waits does not begin; a method
/// that runs stops before its next instruction. A part that runs on a backend is one instruction.
public final class AsyncModule: Sendable {
  private let queue = DispatchQueue(label: "org.pytorch.executorch.module", qos: .userInitiated)
  private let module: Transfer<Module>  // used only on the queue

  /// Takes over a module, for example one whose backend options or inputs have been set.
  public init(_ module: sending Module) {
    self.module = Transfer(module)
  }

  public convenience init(filePath: String, dataFilePaths: [String] = [], loadMode: ModuleLoadMode = .file) {
    self.init(Module(filePath: filePath, dataFilePaths: dataFilePaths, loadMode: loadMode))
  }

  /// Loads the program, and a method if one is given.
  public func load(_ method: String? = nil) async throws {
    try await onQueue { module in
      if let method { try module.load(method) } else { try module.load() }
    }
  }

  public func methodNames() async throws -> Set<String> {
    try await onQueue { try $0.methodNames() }
  }

  public func methodMetadata(_ name: String) async throws -> MethodMetadata {
    try await onQueue { try $0.methodMetadata(name) }
  }

  /// Another module of the same program, for calls at the same time: weights are shared, methods and their state are not.
  public func share() async throws -> AsyncModule {
    try await onQueue { AsyncModule(try $0.share()) }
  }

  /// Runs a method.
  public func execute(_ method: String, _ inputs: sending [ValueConvertible]) async throws -> sending [Value] {
    let given = Transfer(inputs)
    return try await onQueue { module, cancellation in
      let outputs = try module.run(method, given.value, cancellation: cancellation)
      for output in outputs { output.allTensors.forEach { $0.storage.detach() } }
      return Transfer(outputs)
    }.value
  }

  /// Runs a method and converts its outputs to `Output`.
  /// - Throws: also `invalidType` if the outputs cannot be converted.
  public func execute<Output: ValueSequenceConstructible>(
    _ method: String, _ inputs: sending [ValueConvertible]
  ) async throws -> sending Output {
    try Output.from(await execute(method, inputs))
  }

  /// The method `forward`, which most programs have.
  public func forward(_ inputs: sending [ValueConvertible]) async throws -> sending [Value] {
    try await execute("forward", inputs)
  }

  public func forward<Output: ValueSequenceConstructible>(
    _ inputs: sending [ValueConvertible]
  ) async throws -> sending Output {
    try await execute("forward", inputs)
  }

  /// Like ``forward(_:)`` with an array, for one input.
  public func forward(_ input: sending ValueConvertible) async throws -> sending [Value] {
    try await execute("forward", [input])
  }

  public func forward<Output: ValueSequenceConstructible>(
    _ input: sending ValueConvertible
  ) async throws -> sending Output {
    try await execute("forward", [input])
  }

  private func onQueue<Result: Sendable>(
    _ body: @escaping @Sendable (Module) throws -> Result
  ) async throws -> Result {
    try await onQueue { module, _ in try body(module) }
  }

  private func onQueue<Result: Sendable>(
    _ body: @escaping @Sendable (Module, Cancellation) throws -> Result
  ) async throws -> Result {
    let cancellation = try Cancellation()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        queue.async { [module] in
          continuation.resume(
            with: Swift.Result {
              if cancellation.isCancelled { throw CancellationError() }
              do {
                return try body(module.value, cancellation)
              } catch let error as ExecuTorchError where error.code == .cancelled {
                throw CancellationError()
              }
            })
        }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}

/// Carries a value to another thread, which is then its only user. Callers must guarantee this, with `sending`
/// parameters and results or with a queue.
struct Transfer<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
