// SPDX-License-Identifier: BSD-3-Clause

/// The layout of a tensor in memory: its sizes and the order of its dimensions. Tensors are dense, so these two
/// determine the strides.
struct TensorLayout: Equatable {
  let shape: [Int]
  /// The dimensions from the outermost in memory to the innermost.
  let dimensionOrder: [Int]
  /// The strides in elements.
  let strides: [Int]
  let count: Int

  static let maximumRank = 16  // the runtime's limit

  /// A layout that comes from the runtime, which has checked it.
  init(shape: [Int], dimensionOrder: [Int]) {
    self.shape = shape
    self.dimensionOrder = dimensionOrder
    self.strides = TensorLayout.denseStrides(shape: shape, dimensionOrder: dimensionOrder)
    self.count = elementCount(ofShape: shape)
  }

  /// A layout that comes from the caller. An empty `dimensionOrder` or `strides` is derived from the rest.
  /// - Throws: `invalidArgument` if they contradict each other or the shape is too large.
  init(shape: [Int], dimensionOrder: [Int] = [], strides: [Int]) throws {
    try TensorLayout.checkShape(shape)
    let rank = shape.count
    guard dimensionOrder.isEmpty || dimensionOrder.sorted() == Array(0..<rank) else {
      throw ExecuTorchError(
        code: .invalidArgument,
        description: "expected a dimension order with each of 0 to \(rank - 1) once, found \(dimensionOrder)")
    }
    guard strides.isEmpty || strides.count == rank else {
      throw ExecuTorchError(
        code: .invalidArgument, description: "expected \(rank) strides for the shape \(shape), found \(strides)")
    }
    var order = dimensionOrder.isEmpty ? Array(0..<rank) : dimensionOrder
    if dimensionOrder.isEmpty && !strides.isEmpty {
      // The dimension with the larger stride is further out. In dense strides, two are equal only if one of the sizes
      // is 0 or 1; the first of the two dimensions is then further out.
      order.sort { strides[$0] != strides[$1] ? strides[$0] > strides[$1] : $0 < $1 }
    }
    self.init(shape: shape, dimensionOrder: order)
    guard strides.isEmpty || (0..<rank).allSatisfy({ shape[$0] <= 1 || strides[$0] == self.strides[$0] }) else {
      throw ExecuTorchError(
        code: .invalidArgument,
        description: "expected strides without gaps, which are \(self.strides) for the shape \(shape) in the dimension "
          + "order \(order), found \(strides)")
    }
  }

  private static func checkShape(_ shape: [Int]) throws {
    guard shape.count <= maximumRank else {
      throw ExecuTorchError(
        code: .invalidArgument, description: "expected at most \(maximumRank) dimensions, found \(shape.count)")
    }
    var count = 1
    for size in shape {
      guard (0...Int(Int32.max)).contains(size) else {
        throw ExecuTorchError(
          code: .invalidArgument, description: "expected sizes from 0 to \(Int32.max), found the shape \(shape)")
      }
      let (product, overflow) = count.multipliedReportingOverflow(by: size)
      guard !overflow, product <= Int.max / 16 else {
        throw ExecuTorchError(
          code: .invalidArgument,
          description: "a tensor of the shape \(shape) has more bytes than memory has addresses")
      }
      count = product
    }
  }

  private static func denseStrides(shape: [Int], dimensionOrder: [Int]) -> [Int] {
    var strides = [Int](repeating: 0, count: shape.count)
    var next = 1
    for dimension in dimensionOrder.reversed() {
      strides[dimension] = next
      next *= max(shape[dimension], 1)
    }
    return strides
  }

  /// Calls `body` with the offset in memory of each element, in row-major order of the shape.
  func forEachOffset(_ body: (Int) -> Void) {
    TensorLayout.forEachOffset(shape: shape, strides: strides, body)
  }

  /// Like the function above, for any strides.
  static func forEachOffset(shape: [Int], strides: [Int], _ body: (Int) -> Void) {
    let count = elementCount(ofShape: shape)
    guard count > 0 else { return }
    var index = [Int](repeating: 0, count: shape.count)
    var offset = 0
    for _ in 0..<count {
      body(offset)
      var dimension = shape.count - 1
      while dimension >= 0 {
        index[dimension] += 1
        offset += strides[dimension]
        if index[dimension] < shape[dimension] { break }
        offset -= index[dimension] * strides[dimension]
        index[dimension] = 0
        dimension -= 1
      }
    }
  }
}
