// SPDX-License-Identifier: BSD-3-Clause
import { ExecuTorchError } from "./errors.js";
import { bfloat16Bits, bfloat16Value, halfBits, halfValue } from "./float16.js";
import { ScalarType, type TypedArray } from "./scalar_type.js";

const MOST_DIMENSIONS = 16;

function refuse(message: string): never {
  throw new ExecuTorchError("InvalidArgument", message);
}

/** The number of elements of sizes, which are checked. */
export function elementCount(sizes: readonly number[]): number {
  if (!Array.isArray(sizes)) refuse(`expected an array of sizes, found ${typeof sizes}`);
  if (sizes.length > MOST_DIMENSIONS) refuse(`expected at most ${MOST_DIMENSIONS} dimensions, found ${sizes.length}`);
  let count = 1;
  for (const size of sizes) {
    if (!Number.isInteger(size) || size < 0 || size > 0x7fffffff) {
      refuse(`expected sizes from 0 to 2147483647, found [${sizes.join(", ")}]`);
    }
    count *= size;
  }
  if (count > Number.MAX_SAFE_INTEGER) refuse(`the sizes [${sizes.join(", ")}] have too many elements`);
  return count;
}

/** The dimensions from the outermost in memory to the innermost, which strides or a dim order give. */
function dimOrderOf(sizes: readonly number[], dimOrder: readonly number[], strides: readonly number[]): number[] {
  const dimensions = sizes.map((_, dimension) => dimension);
  if (dimOrder.length === 0 && strides.length > 0) {
    if (strides.length !== sizes.length) refuse(`expected ${sizes.length} strides, found ${strides.length}`);
    dimOrder = [...dimensions].sort((a, b) => strides[b]! - strides[a]! || a - b);
  }
  if (dimOrder.length === 0) return dimensions;
  if (dimOrder.length !== sizes.length || [...dimOrder].sort((a, b) => a - b).some((d, i) => d !== i)) {
    refuse(`expected a dim order with each of the ${sizes.length} dimensions once, found [${dimOrder.join(", ")}]`);
  }
  const order = [...dimOrder];
  if (strides.length > 0) {
    const expected = stridesOf(sizes, order);
    if (expected.some((stride, d) => sizes[d] !== 1 && stride !== strides[d])) {
      refuse(`expected the strides [${expected.join(", ")}] of a dense tensor, found [${strides.join(", ")}]`);
    }
  }
  return order;
}

function stridesOf(sizes: readonly number[], dimOrder: readonly number[]): number[] {
  const strides = new Array<number>(sizes.length);
  let stride = 1;
  for (let i = dimOrder.length - 1; i >= 0; i--) {
    const dimension = dimOrder[i]!;
    strides[dimension] = stride;
    stride *= Math.max(sizes[dimension]!, 1);
  }
  return strides;
}

/** A tensor: elements in a typed array, dense, in the memory order of `dimOrder`. */
export class Tensor {
  /** Elements in their order in memory; of a dtype that has no typed array, their bits (see ScalarType). */
  readonly data: TypedArray;
  readonly sizes: readonly number[];
  readonly scalarType: ScalarType;
  /** The dimensions from the outermost in memory to the innermost. */
  readonly dimOrder: readonly number[];

  /** A tensor over `data`, which is not copied. By default, the tensor has the dtype of the typed array. */
  constructor(data: TypedArray, sizes: readonly number[], scalarType?: ScalarType, dimOrder: readonly number[] = []) {
    const type = scalarType ?? ScalarType.ofArray(data);
    // Half tensors may also be given as bits on engines that have Float16Array.
    const isHalfBits = type === ScalarType.Half && data instanceof Uint16Array;
    if (!(data instanceof type.array) && !isHalfBits) {
      refuse(`expected elements of ${type.name} in a ${(type.array as unknown as { name: string }).name}, found ${data.constructor.name}`);
    }
    const count = elementCount(sizes);
    if (data.length !== count) refuse(`expected ${count} elements for the sizes [${sizes.join(", ")}], found ${data.length}`);
    this.data = isHalfBits && type.array !== (Uint16Array as unknown) ? new type.array(data.buffer, data.byteOffset, data.length) : data;
    this.sizes = Object.freeze([...sizes]);
    this.scalarType = type;
    this.dimOrder = Object.freeze(dimOrderOf(sizes, dimOrder, []));
  }

  static zeros(sizes: readonly number[], scalarType: ScalarType = ScalarType.Float): Tensor {
    return new Tensor(new scalarType.array(elementCount(sizes)), sizes, scalarType);
  }

  static ones(sizes: readonly number[], scalarType: ScalarType = ScalarType.Float): Tensor {
    return Tensor.full(sizes, 1, scalarType);
  }

  static full(sizes: readonly number[], value: number | bigint | boolean, scalarType: ScalarType = ScalarType.Float): Tensor {
    const tensor = Tensor.zeros(sizes, scalarType);
    const element = elementOf(value, scalarType);
    (tensor.data as { fill(value: unknown): unknown }).fill(element);
    if (tensor.data.length > 0) checkStored(tensor.data[0]!, element, scalarType);
    return tensor;
  }

  /** From numbers, BigInts or booleans. By default Long for BigInts, Bool for booleans, else Float. */
  static fromArray(
    sizes: readonly number[],
    array: ArrayLike<number | bigint | boolean>,
    scalarType?: ScalarType,
    dimOrder: readonly number[] = [],
    strides: readonly number[] = [],
  ): Tensor {
    const count = elementCount(sizes);
    if (array.length !== count) refuse(`expected ${count} elements for the sizes [${sizes.join(", ")}], found ${array.length}`);
    const type = scalarType ?? usualType(array[0]);
    const data = new type.array(count);
    for (let i = 0; i < count; i++) {
      const element = elementOf(array[i]!, type);
      (data as unknown as unknown[])[i] = element;
      checkStored(data[i]!, element, type);
    }
    return new Tensor(data, sizes, type, dimOrderOf(sizes, dimOrder, strides));
  }

  /** The same from an iterable; it reads the number of elements that the sizes have. */
  static fromIter(
    sizes: readonly number[],
    iterable: Iterable<number | bigint | boolean>,
    scalarType?: ScalarType,
    dimOrder: readonly number[] = [],
    strides: readonly number[] = [],
  ): Tensor {
    const count = elementCount(sizes);
    const elements: (number | bigint | boolean)[] = [];
    if (count > 0) {
      for (const element of iterable) {
        if (elements.push(element) === count) break;
      }
    }
    return Tensor.fromArray(sizes, elements, scalarType, dimOrder, strides);
  }

  /** Elements between neighbours of each dimension. */
  get strides(): number[] {
    return stridesOf(this.sizes, this.dimOrder);
  }

  /** The elements as numbers; elements of Long and UInt64 are rounded if a number cannot hold them. */
  toNumbers(): Float64Array {
    const convert =
      this.scalarType === ScalarType.BFloat16
        ? bfloat16Value
        : this.scalarType === ScalarType.Half && this.data instanceof Uint16Array
          ? halfValue
          : Number;
    const numbers = new Float64Array(this.data.length);
    for (let i = 0; i < numbers.length; i++) numbers[i] = convert(this.data[i]! as number);
    return numbers;
  }

  /** Whether delete() freed its memory. */
  get isDeleted(): boolean {
    return false;
  }

  /** Frees the memory of a tensor that a Runtime allocated. Others are freed by the garbage collector. */
  delete(): void {}

  dispose(): void {
    this.delete();
  }
}

function usualType(first: number | bigint | boolean | undefined): ScalarType {
  if (typeof first === "bigint") return ScalarType.Long;
  return typeof first === "boolean" ? ScalarType.Bool : ScalarType.Float;
}

/** Typed arrays of integers drop fractions and high bits. */
function checkStored(stored: number | bigint, element: number | bigint, type: ScalarType): void {
  if (type.isInteger && stored !== element) refuse(`expected an integer that ${type.name} can hold, found ${String(element)}`);
}

function elementOf(value: number | bigint | boolean, type: ScalarType): number | bigint {
  if (typeof value !== "number" && typeof value !== "bigint" && typeof value !== "boolean") {
    refuse(`expected elements that are numbers, BigInts or booleans, found ${value === null ? "null" : typeof value}`);
  }
  if (type.isBig) {
    if (typeof value === "bigint") return value;
    if (!Number.isInteger(Number(value))) refuse(`expected an integer for ${type.name}, found ${String(value)}`);
    return BigInt(value);
  }
  if (type === ScalarType.Bool) return value ? 1 : 0;
  if (typeof value === "bigint") refuse(`expected a number for ${type.name}, found the BigInt ${value}n`);
  if (type === ScalarType.BFloat16) return bfloat16Bits(Number(value));
  if (type === ScalarType.Half && (type.array as unknown) === Uint16Array) return halfBits(Number(value));
  return Number(value);
}
