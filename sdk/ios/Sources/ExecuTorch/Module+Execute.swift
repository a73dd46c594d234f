// SPDX-License-Identifier: BSD-3-Clause

extension Module {
  /// Runs a method without inputs, or with those that were set.
  public func execute(_ method: String) throws -> [Value] {
    try run(method, [])
  }

  /// Runs a method. Inputs that are omitted at the end are those that were set.
  /// - Throws: an ``ExecuTorchError`` that says what went wrong: a wrong number, type or shape of inputs, a file that
  ///   is not a program, ...
  public func execute(_ method: String, _ inputs: [ValueConvertible]) throws -> [Value] {
    try run(method, inputs)
  }

  public func execute(_ method: String, _ inputs: ValueConvertible...) throws -> [Value] {
    try run(method, inputs)
  }

  /// Runs a method and converts its outputs to `Output`.
  /// - Throws: also `invalidType` if the outputs cannot be converted.
  public func execute<Output: ValueSequenceConstructible>(_ method: String) throws -> Output {
    try Output.from(run(method, []))
  }

  public func execute<Output: ValueSequenceConstructible>(
    _ method: String, _ inputs: [ValueConvertible]
  ) throws -> Output {
    try Output.from(run(method, inputs))
  }

  public func execute<Output: ValueSequenceConstructible>(
    _ method: String, _ inputs: ValueConvertible...
  ) throws -> Output {
    try Output.from(run(method, inputs))
  }

  /// The method `forward`, which most programs have.
  public func forward() throws -> [Value] {
    try run("forward", [])
  }

  public func forward(_ inputs: [ValueConvertible]) throws -> [Value] {
    try run("forward", inputs)
  }

  public func forward(_ inputs: ValueConvertible...) throws -> [Value] {
    try run("forward", inputs)
  }

  public func forward<Output: ValueSequenceConstructible>() throws -> Output {
    try Output.from(run("forward", []))
  }

  public func forward<Output: ValueSequenceConstructible>(_ inputs: [ValueConvertible]) throws -> Output {
    try Output.from(run("forward", inputs))
  }

  public func forward<Output: ValueSequenceConstructible>(_ inputs: ValueConvertible...) throws -> Output {
    try Output.from(run("forward", inputs))
  }
}
