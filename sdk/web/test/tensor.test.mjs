// SPDX-License-Identifier: BSD-3-Clause
import assert from "node:assert/strict";
import { test } from "node:test";
import { et } from "./support.mjs";

const { ScalarType, Tensor } = et;
const refuses = (body, words) => assert.throws(body, (error) => error instanceof et.ExecuTorchError && error.code === "InvalidArgument" && error.message.includes(words));

test("the constructors of the original's bindings", () => {
  assert.deepEqual(Tensor.zeros([2, 2]).data, new Float32Array(4));
  assert.deepEqual(Tensor.ones([2, 2], ScalarType.Long).data, new BigInt64Array([1n, 1n, 1n, 1n]));
  assert.deepEqual(Tensor.full([3], 2.5, ScalarType.Double).data, new Float64Array([2.5, 2.5, 2.5]));
  assert.deepEqual(Tensor.fromArray([2], [1n, 2n]).scalarType, ScalarType.Long);
  assert.deepEqual(Tensor.fromArray([2], [true, false]).data, new Uint8Array([1, 0]));
  const counting = function* () {
    for (let i = 0; ; i++) yield i;
  };
  assert.deepEqual(Tensor.fromIter([2, 2], counting()).data, new Float32Array([0, 1, 2, 3]));
  assert.deepEqual(Tensor.fromArray([2, 3], [1, 2, 3, 4, 5, 6], ScalarType.Int, [], [1, 2]).dimOrder, [1, 0]);
  assert.deepEqual(Tensor.zeros([2, 3, 4]).strides, [12, 4, 1]);
  assert.equal(Tensor.zeros([]).data.length, 1);
  assert.equal(Tensor.zeros([0, 5]).data.length, 0);
});

test("a typed array gives its dtype and is not copied", () => {
  for (const [array, type] of [
    [new Uint8Array(2), "Byte"],
    [new Int8Array(2), "Char"],
    [new Int16Array(2), "Short"],
    [new Int32Array(2), "Int"],
    [new BigInt64Array(2), "Long"],
    [new Float32Array(2), "Float"],
    [new Float64Array(2), "Double"],
    [new Uint16Array(2), "UInt16"],
    [new Uint32Array(2), "UInt32"],
    [new BigUint64Array(2), "UInt64"],
  ]) {
    const tensor = new Tensor(array, [2]);
    assert.equal(tensor.scalarType.name, type);
    assert.equal(tensor.data, array);
  }
});

// From the definition of the format (IEEE 754 binary16): sign, exponent with bias 15, 10 bits of fraction.
test("float16 is rounded to the nearest number, ties to even", () => {
  const bits = (values) => new Uint16Array(Tensor.fromArray([values.length], values, ScalarType.Half).data.buffer);
  const values = [1, -2, 65504, 65519, 65520, 2 ** -24, 2 ** -25, 1.5 * 2 ** -24, 2 ** -14 - 2 ** -25, 1 + 2 ** -11, 1 + 3 * 2 ** -11, -0, Infinity, NaN, 2047.6];
  assert.deepEqual([...bits(values)], [0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 1, 0, 2, 0x400, 0x3c00, 0x3c02, 0x8000, 0x7c00, 0x7e00, 0x6800]);
  const back = new Tensor(new Uint16Array([0x3c00, 0xc000, 1, 0x7c00, 0x8000, 0x3555]), [6], ScalarType.Half).toNumbers();
  assert.deepEqual([...back], [1, -2, 2 ** -24, Infinity, -0, 1365 * 2 ** -12]);
});

test("bfloat16 is rounded to the nearest number, ties to even", () => {
  const values = [1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 3.4e38, -0, NaN];
  const tensor = Tensor.fromArray([6], values, ScalarType.BFloat16);
  assert.deepEqual([...tensor.data], [0x3f80, 0x3f80, 0x3f82, 0x7f80, 0x8000, 0x7fc0]);
  assert.deepEqual([...tensor.toNumbers()].slice(0, 3), [1, 1, 1 + 2 ** -6]);
});

test("what cannot be a tensor is refused", () => {
  refuses(() => Tensor.fromArray([3, 2], [1, 2, 3, 4]), "expected 6 elements for the sizes [3, 2], found 4");
  refuses(() => Tensor.zeros([-1]), "found [-1]");
  refuses(() => Tensor.zeros([1.5]), "found [1.5]");
  refuses(() => Tensor.zeros(new Array(17).fill(1)), "at most 16 dimensions, found 17");
  refuses(() => new Tensor(new Float32Array(2), [2], ScalarType.Int), "Int32Array, found Float32Array");
  refuses(() => new Tensor(new Float32Array(4), [2, 2], ScalarType.Float, [0, 0]), "each of the 2 dimensions once");
  refuses(() => Tensor.fromArray([2, 2], [1, 2, 3, 4], ScalarType.Float, [], [5, 1]), "strides [2, 1] of a dense tensor");
  refuses(() => Tensor.fromArray([1], [1n], ScalarType.Float), "found the BigInt 1n");
  refuses(() => Tensor.fromArray([1], [1.5], ScalarType.Long), "expected an integer for Long, found 1.5");
  refuses(() => new Tensor([1, 2], [2]), "expected a typed array");
  refuses(() => new Tensor(null, [2]), "expected a typed array of numbers, found null");
});

test("integers that a dtype does not have are refused", () => {
  const limits = { Byte: [0, 255], Char: [-128, 127], Short: [-32768, 32767], Int: [-(2 ** 31), 2 ** 31 - 1], UInt16: [0, 65535], UInt32: [0, 2 ** 32 - 1] };
  for (const [name, [least, most]] of Object.entries(limits)) {
    assert.deepEqual([...Tensor.fromArray([3], [least, most, -0], ScalarType[name]).data], [least, most, 0]);
    for (const wrong of [least - 1, most + 1, 0.5, NaN, Infinity]) {
      refuses(() => Tensor.fromArray([1], [wrong], ScalarType[name]), `expected an integer that ${name} can hold, found ${wrong}`);
      refuses(() => Tensor.full([2], wrong, ScalarType[name]), `expected an integer that ${name} can hold, found ${wrong}`);
    }
  }
  for (const [name, wrong] of [["Long", 2n ** 63n], ["Long", -(2n ** 63n) - 1n], ["UInt64", -1n], ["UInt64", 2n ** 64n]]) {
    refuses(() => Tensor.fromArray([1], [wrong], ScalarType[name]), `expected an integer that ${name} can hold, found ${wrong}`);
  }
  for (const wrong of [undefined, null, "3", {}]) {
    refuses(() => Tensor.fromArray([1], [wrong]), "expected elements that are numbers, BigInts or booleans");
  }
});
