// SPDX-License-Identifier: BSD-3-Clause
import Foundation

extension AnyTensor {
  private static func make(
    _ shape: [Int], _ strides: [Int], _ dataType: DataType, _ shapeDynamism: ShapeDynamism
  ) -> AnyTensor {
    let layout = valid { try TensorLayout(shape: shape, strides: strides) }
    return AnyTensor(
      storage: .uninitialized(byteCount: layout.count * elementSize(of: dataType)), layout: layout,
      dataType: dataType, shapeDynamism: shapeDynamism)
  }

  /// Calls `set` for each element in row-major order.
  private func fill(_ set: (any Elements, Int) -> Void) -> AnyTensor {
    withElements(of: dataType, at: storage.base) { elements in
      layout.forEachOffset { offset in set(elements, offset) }
    }
    return self
  }

  /// Elements of undefined value.
  public static func empty(
    shape: [Int], strides: [Int] = [], dataType: DataType, shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> AnyTensor {
    make(shape, strides, dataType, shapeDynamism)
  }

  /// Every element is `scalar`, converted as in PyTorch: fractions are truncated for integers.
  public static func full(
    shape: [Int], scalar: some Scalar, strides: [Int] = [], dataType: DataType,
    shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> AnyTensor {
    let tensor = make(shape, strides, dataType, shapeDynamism)
    let number = scalar.asNSNumber()
    let count = tensor.count
    withElements(of: dataType, at: tensor.storage.base) { elements in
      for index in 0..<count { elements.set(index, number) }
    }
    return tensor
  }

  public static func ones(
    shape: [Int], strides: [Int] = [], dataType: DataType, shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> AnyTensor {
    full(shape: shape, scalar: 1, strides: strides, dataType: dataType, shapeDynamism: shapeDynamism)
  }

  public static func zeros(
    shape: [Int], strides: [Int] = [], dataType: DataType, shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> AnyTensor {
    let layout = valid { try TensorLayout(shape: shape, strides: strides) }
    return AnyTensor(
      storage: .zeroed(byteCount: layout.count * elementSize(of: dataType)), layout: layout, dataType: dataType,
      shapeDynamism: shapeDynamism)
  }

  /// Random numbers, uniform in [0, 1): multiples of 2^-11 for half, 2^-8 for bfloat16, 2^-53 for double and 2^-24 for
  /// the others.
  public static func rand(
    shape: [Int], strides: [Int] = [], dataType: DataType, shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> AnyTensor {
    let digits = dataType == .half ? 11 : dataType == .bFloat16 ? 8 : dataType == .double ? 53 : 24
    return make(shape, strides, dataType, shapeDynamism).fill { $0.set($1, uniform(digits: digits)) }
  }

  /// Random numbers of the normal distribution with mean 0 and variance 1 (Box and Muller's method).
  public static func randn(
    shape: [Int], strides: [Int] = [], dataType: DataType, shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> AnyTensor {
    make(shape, strides, dataType, shapeDynamism).fill {
      $0.set($1, (-2 * log(1 - uniform())).squareRoot() * cos(2 * .pi * uniform()))
    }
  }

  /// Random whole numbers in [low, high).
  public static func randint(
    low: Int, high: Int, shape: [Int], strides: [Int] = [], dataType: DataType = .long,
    shapeDynamism: ShapeDynamism = .dynamicBound
  ) -> AnyTensor {
    precondition(low < high, "expected low < high, found \(low) and \(high)")
    return make(shape, strides, dataType, shapeDynamism).fill {
      $0.set($1, NSNumber(value: Int.random(in: low..<high)))  // a Double would round large numbers, some of them to `high`
    }
  }

  /// A number in [0, 1) of so many binary digits: with more than a type has, the largest would be rounded to 1.
  private static func uniform(digits: Int = 53) -> Double {
    Double(UInt64.random(in: 0..<(1 << digits))) / Double(UInt64(1) << digits)
  }

  // MARK: Like another tensor

  private func like(
    _ dataType: DataType, _ shapeDynamism: ShapeDynamism?,
    _ make: ([Int], [Int], DataType, ShapeDynamism) -> AnyTensor
  ) -> AnyTensor {
    make(shape, strides, dataType == .undefined ? self.dataType : dataType, shapeDynamism ?? self.shapeDynamism)
  }

  /// The `like:` factories give a tensor of the same shape and strides as `tensor`, and of its type and dynamism unless
  /// others are given.
  public static func empty(
    like tensor: AnyTensor, dataType: DataType = .undefined, shapeDynamism: ShapeDynamism? = nil
  ) -> AnyTensor {
    tensor.like(dataType, shapeDynamism) { empty(shape: $0, strides: $1, dataType: $2, shapeDynamism: $3) }
  }

  public static func full(
    like tensor: AnyTensor, scalar: some Scalar, dataType: DataType = .undefined, shapeDynamism: ShapeDynamism? = nil
  ) -> AnyTensor {
    tensor.like(dataType, shapeDynamism) {
      full(shape: $0, scalar: scalar, strides: $1, dataType: $2, shapeDynamism: $3)
    }
  }

  public static func ones(
    like tensor: AnyTensor, dataType: DataType = .undefined, shapeDynamism: ShapeDynamism? = nil
  ) -> AnyTensor {
    tensor.like(dataType, shapeDynamism) { ones(shape: $0, strides: $1, dataType: $2, shapeDynamism: $3) }
  }

  public static func zeros(
    like tensor: AnyTensor, dataType: DataType = .undefined, shapeDynamism: ShapeDynamism? = nil
  ) -> AnyTensor {
    tensor.like(dataType, shapeDynamism) { zeros(shape: $0, strides: $1, dataType: $2, shapeDynamism: $3) }
  }

  public static func rand(
    like tensor: AnyTensor, dataType: DataType = .undefined, shapeDynamism: ShapeDynamism? = nil
  ) -> AnyTensor {
    tensor.like(dataType, shapeDynamism) { rand(shape: $0, strides: $1, dataType: $2, shapeDynamism: $3) }
  }

  public static func randn(
    like tensor: AnyTensor, dataType: DataType = .undefined, shapeDynamism: ShapeDynamism? = nil
  ) -> AnyTensor {
    tensor.like(dataType, shapeDynamism) { randn(shape: $0, strides: $1, dataType: $2, shapeDynamism: $3) }
  }

  public static func randint(
    like tensor: AnyTensor, low: Int, high: Int, dataType: DataType = .undefined, shapeDynamism: ShapeDynamism? = nil
  ) -> AnyTensor {
    tensor.like(dataType, shapeDynamism) {
      randint(low: low, high: high, shape: $0, strides: $1, dataType: $2, shapeDynamism: $3)
    }
  }
}
