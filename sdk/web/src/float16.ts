// SPDX-License-Identifier: BSD-3-Clause
// Conversions of 16-bit floating-point numbers, for engines without Float16Array and for bfloat16.

const number = new Float32Array(1);
const bits = new Uint32Array(number.buffer);

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

/** The bits of the nearest float16; the even one if two are equally near. */
export function halfBits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  // Below the smallest normal number, steps are of one size. A carry into the exponent gives the right bits.
  if (magnitude < 2 ** -14) return sign | roundToEven(magnitude * 2 ** 24);
  let exponent = Math.floor(Math.log2(magnitude));
  if (magnitude < 2 ** exponent) exponent -= 1; // the logarithm is rounded
  return sign | (((exponent + 15) << 10) + roundToEven(magnitude / 2 ** (exponent - 10)) - 1024);
}

/** The number that a float16 with these bits is. */
export function halfValue(half: number): number {
  const exponent = (half >> 10) & 0x1f;
  const mantissa = half & 0x3ff;
  const magnitude =
    exponent === 31 ? (mantissa ? NaN : Infinity) : exponent ? (1 + mantissa / 1024) * 2 ** (exponent - 15) : mantissa * 2 ** -24;
  return half & 0x8000 ? -magnitude : magnitude;
}

/** The bits of a bfloat16. */
export function bfloat16Bits(value: number): number {
  number[0] = value;
  const all = bits[0]!;
  if ((all & 0x7fffffff) > 0x7f800000) return (all >>> 16) | 0x40;
  return ((all + 0x7fff + ((all >>> 16) & 1)) >>> 16) & 0xffff;
}

/** The number that a bfloat16 with these bits is. */
export function bfloat16Value(half: number): number {
  bits[0] = half << 16;
  return number[0]!;
}
