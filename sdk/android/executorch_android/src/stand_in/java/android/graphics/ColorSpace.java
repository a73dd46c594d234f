// SPDX-License-Identifier: BSD-3-Clause
package android.graphics;

/** The meaning of colours; null: sRGB. */
public abstract class ColorSpace {}
