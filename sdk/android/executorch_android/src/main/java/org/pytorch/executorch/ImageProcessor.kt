// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import java.nio.ByteBuffer

/** How an image is scaled to the size of the target. */
public enum class ImageResizeMode {
  /** Width and height are scaled separately, so the aspect ratio changes. */
  STRETCH,

  /** The aspect ratio is kept, and the rest of the target is padding: on all sides, so that the image is in the centre. */
  LETTERBOX,

  /** The aspect ratio is kept, with padding on the right and below only. */
  LETTERBOX_TOP_LEFT,
}

/**
 * How a stored image is turned to be displayed.
 *
 * @property exif the value of the Exif tag Orientation, as `ExifInterface.TAG_ORIENTATION` gives it.
 */
public enum class ImageOrientation(public val exif: Int) {
  UP(1),
  DOWN(3),

  /** Clockwise by 90 degrees. */
  RIGHT(6),

  /** Counterclockwise by 90 degrees. */
  LEFT(8),
}

/** The layout of pixels in memory. */
public enum class ImagePixelFormat {
  /** Four bytes; alpha is ignored. */
  BGRA,

  /** Four bytes, as in a `Bitmap` of the config ARGB_8888; alpha is ignored. */
  RGBA,

  /** Luma (16 to 235), and chroma (16 to 240, blue first) at half the width and height; ITU-R BT.601. */
  NV12,

  /** [NV12] with red first. */
  NV21,

  /** [NV12] with luma and chroma from 0 to 255. */
  NV12_FULL_RANGE,

  /** [NV12_FULL_RANGE] with red first. */
  NV21_FULL_RANGE,
}

/**
 * Element = (byte * [scaleFactor] - mean) / standardDeviation, by channel: red, green, blue.
 *
 * @param mean three numbers.
 * @param standardDeviation three positive numbers.
 */
public class ImageNormalization(public val scaleFactor: Float, mean: FloatArray, standardDeviation: FloatArray) {
  internal val factors = floatArrayOf(scaleFactor) + mean + standardDeviation

  init {
    require(mean.size == 3 && standardDeviation.size == 3) {
      "expected a mean and a deviation for each of three channels, found ${mean.size} and ${standardDeviation.size}"
    }
    require(standardDeviation.all { it > 0 }) { "expected positive deviations, found ${standardDeviation.contentToString()}" }
  }

  public companion object {
    /** Bytes from 0 to 255 become 0 to 1. */
    @JvmStatic
    public fun zeroToOne(): ImageNormalization = ImageNormalization(1f / 255, FloatArray(3), floatArrayOf(1f, 1f, 1f))

    /** The mean and the standard deviation of ImageNet, which torchvision's models are trained with. */
    @JvmStatic
    public fun imagenet(): ImageNormalization =
      ImageNormalization(1f / 255, floatArrayOf(0.485f, 0.456f, 0.406f), floatArrayOf(0.229f, 0.224f, 0.225f))
  }
}

/**
 * Converts pixels of a camera or a decoder to the tensor that a vision model takes: FLOAT, of the shape 1, 3,
 * [targetHeight], [targetWidth], red first. Scaling is bilinear with pixel centres at halves, like PyTorch's
 * `interpolate` with `align_corners=False`. Any thread may use it. [process][org.pytorch.executorch.process] takes
 * bitmaps.
 *
 * @property padValue the value of padding elements; it is not normalized.
 */
public class ImageProcessor
@JvmOverloads
constructor(
  public val targetWidth: Int = 224,
  public val targetHeight: Int = 224,
  private val normalization: ImageNormalization = ImageNormalization.zeroToOne(),
  public val resizeMode: ImageResizeMode = ImageResizeMode.STRETCH,
  public val padValue: Float = 0f,
) {
  init {
    require(targetWidth > 0 && targetHeight > 0) {
      "expected a target with pixels, found a width of $targetWidth and a height of $targetHeight"
    }
  }

  /**
   * The tensor of an image in memory.
   *
   * @param pixels a direct buffer: from its first byte on, [height] rows of [bytesPerRow] bytes; in formats with two
   *   planes, the luma.
   * @param chroma in formats with two planes, the chroma: half as many rows, of [chromaBytesPerRow] bytes.
   * @param into a tensor that is written to, for example one that is reused for every frame; null: a new one.
   * @throws IllegalArgumentException for buffers that are too small or not direct, and for an [into] of another dtype,
   *   shape or dim order than the result.
   * @throws ExecutorchRuntimeException for rows that are too short, or a missing plane.
   */
  @JvmOverloads
  public fun process(
    pixels: ByteBuffer,
    width: Int,
    height: Int,
    bytesPerRow: Int,
    format: ImagePixelFormat,
    orientation: ImageOrientation = ImageOrientation.UP,
    chroma: ByteBuffer? = null,
    chromaBytesPerRow: Int = 0,
    into: Tensor? = null,
  ): Tensor {
    val isPlanar = format >= ImagePixelFormat.NV12
    requireRows("pixels", pixels, height, bytesPerRow, if (isPlanar) width.toLong() else 4L * width)
    if (isPlanar && chroma != null) {
      requireRows("chroma", chroma, (height + 1) / 2, chromaBytesPerRow, (width + 1L) / 2 * 2)
    }
    val shape = longArrayOf(1, 3, targetHeight.toLong(), targetWidth.toLong())
    val output = into ?: Tensor.zeros(shape, DType.FLOAT)
    require(output.dtype() == DType.FLOAT && output.shape().contentEquals(shape)) {
      "expected a FLOAT tensor of shape ${shape.contentToString()}, found ${output.dtype()} and ${output.shape().contentToString()}"
    }
    require(output.order == null) { "expected a contiguous tensor, found the dim order ${output.dimOrder().contentToString()}" }
    val numbers = numbers(width, height, bytesPerRow, chromaBytesPerRow, format, orientation)
    Native.imageToTensor(numbers, factors, fromStart(pixels) as ByteBuffer, chroma, output.storage)
    return output
  }

  /**
   * The columns of padding to the left of an image of this size and the rows above it, for mapping positions in the
   * output back to the image.
   */
  @JvmOverloads
  public fun computeLetterboxPadding(
    inputWidth: Int,
    inputHeight: Int,
    orientation: ImageOrientation = ImageOrientation.UP,
  ): IntArray = Native.imagePadding(numbers(inputWidth, inputHeight, 0, 0, ImagePixelFormat.RGBA, orientation), factors)

  private val factors = floatArrayOf(padValue) + normalization.factors

  private fun numbers(
    width: Int,
    height: Int,
    bytesPerRow: Int,
    chromaBytesPerRow: Int,
    format: ImagePixelFormat,
    orientation: ImageOrientation,
  ) =
    intArrayOf(
      targetWidth,
      targetHeight,
      resizeMode.ordinal,
      width,
      height,
      bytesPerRow,
      chromaBytesPerRow,
      format.ordinal,
      orientation.exif,
    )

  private fun requireRows(name: String, buffer: ByteBuffer, rows: Int, bytesPerRow: Int, lastRow: Long) {
    require(buffer.isDirect) { "expected a direct buffer of $name, such as Tensor.allocateByteBuffer() makes; found one in the Java heap" }
    val needed = if (rows > 0) (rows - 1L) * bytesPerRow + lastRow else 0
    require(buffer.capacity() >= needed) {
      "expected $needed bytes of $name for $rows rows of $bytesPerRow bytes, found a buffer of ${buffer.capacity()}"
    }
  }
}
