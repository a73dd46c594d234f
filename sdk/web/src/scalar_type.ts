// SPDX-License-Identifier: BSD-3-Clause
// The dtypes of tensors, and the tags of values, with PyTorch's and the runtime's numbers.
import { ExecuTorchError } from "./errors.js";

export type TypedArray =
  | Uint8Array
  | Int8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** The constructor of an array of elements. */
export interface ElementArray {
  new (length: number): TypedArray;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray;
  readonly BYTES_PER_ELEMENT: number;
}

// Float16Array is younger than the other typed arrays; without it, elements are the bits of the numbers.
const halfArray = ((globalThis as Record<string, unknown>)["Float16Array"] ?? Uint16Array) as unknown as ElementArray;

/** A dtype. */
export class ScalarType {
  private static readonly all = new Map<number, ScalarType>();

  private constructor(
    readonly name: string,
    /** PyTorch's number. */
    readonly value: number,
    /** The array that holds elements. */
    readonly array: ElementArray,
  ) {
    ScalarType.all.set(value, this);
  }

  static readonly Byte = new ScalarType("Byte", 0, Uint8Array);
  static readonly Char = new ScalarType("Char", 1, Int8Array);
  static readonly Short = new ScalarType("Short", 2, Int16Array);
  static readonly Int = new ScalarType("Int", 3, Int32Array);
  static readonly Long = new ScalarType("Long", 4, BigInt64Array);
  /** Elements are in a Float16Array where the engine has it, and otherwise the bits of the numbers in a Uint16Array. */
  static readonly Half = new ScalarType("Half", 5, halfArray);
  static readonly Float = new ScalarType("Float", 6, Float32Array);
  static readonly Double = new ScalarType("Double", 7, Float64Array);
  /** Elements are 0 or 1. */
  static readonly Bool = new ScalarType("Bool", 11, Uint8Array);
  /** Elements are the bits of the numbers. */
  static readonly BFloat16 = new ScalarType("BFloat16", 15, Uint16Array);
  static readonly UInt16 = new ScalarType("UInt16", 27, Uint16Array);
  static readonly UInt32 = new ScalarType("UInt32", 28, Uint32Array);
  static readonly UInt64 = new ScalarType("UInt64", 29, BigUint64Array);

  /** The type with this number in PyTorch. */
  static of(value: number): ScalarType {
    const found = ScalarType.all.get(value);
    if (found === undefined) {
      const known = [...ScalarType.all.values()].map((type) => `${type.name} (${type.value})`).join(", ");
      throw new ExecuTorchError("NotSupported", `expected a dtype of ${known}, found number ${value}`);
    }
    return found;
  }

  /** The dtype that holds the elements of `array`; a Uint16Array is UInt16, a Uint8Array is Byte. */
  static ofArray(array: TypedArray): ScalarType {
    for (const type of ScalarType.all.values()) {
      if (array instanceof type.array && type !== ScalarType.Bool && type !== ScalarType.BFloat16) {
        if (type !== ScalarType.Half || type.array !== (Uint16Array as unknown as ElementArray)) return type;
      }
    }
    throw new ExecuTorchError("InvalidArgument", `expected a typed array of numbers, found ${(array as TypedArray | null | undefined)?.constructor.name ?? String(array)}`);
  }

  /** Whether elements are BigInts. */
  get isBig(): boolean {
    return this === ScalarType.Long || this === ScalarType.UInt64;
  }

  get isInteger(): boolean {
    return !NOT_INTEGERS.has(this.name);
  }

  toString(): string {
    return this.name;
  }
}

const NOT_INTEGERS: ReadonlySet<string> = new Set(["Half", "Float", "Double", "Bool", "BFloat16"]);

/** What kind of value an input or output is. */
export class Tag {
  private static readonly all = new Map<number, Tag>();

  private constructor(
    readonly name: string,
    /** The runtime's number. */
    readonly value: number,
  ) {
    Tag.all.set(value, this);
  }

  static readonly None = new Tag("None", 0);
  static readonly Tensor = new Tag("Tensor", 1);
  static readonly String = new Tag("String", 2);
  static readonly Double = new Tag("Double", 3);
  static readonly Int = new Tag("Int", 4);
  static readonly Bool = new Tag("Bool", 5);
  static readonly ListBool = new Tag("ListBool", 6);
  static readonly ListDouble = new Tag("ListDouble", 7);
  static readonly ListInt = new Tag("ListInt", 8);
  static readonly ListTensor = new Tag("ListTensor", 9);
  static readonly ListOptionalTensor = new Tag("ListOptionalTensor", 11);

  static of(value: number): Tag {
    const found = Tag.all.get(value);
    if (found === undefined) throw new ExecuTorchError("NotSupported", `expected a kind of value, found number ${value}`);
    return found;
  }

  toString(): string {
    return this.name;
  }
}
