// SPDX-License-Identifier: BSD-3-Clause
// The names and the package are those of ExecuTorch's classes.
package org.pytorch.executorch.extension.image

/** How an image is scaled to the size of the target. */
public enum class ResizeMode {
  /** Width and height are scaled separately, so the aspect ratio changes. */
  STRETCH,

  /** The aspect ratio is kept, and the rest of the target is padding. */
  LETTERBOX,
}

/** Where an image is in the target, if there is padding. */
public enum class LetterboxAnchor {
  CENTER,
  TOP_LEFT,
}

/**
 * How a stored image is turned to be displayed.
 *
 * @property exifCode the value of the Exif tag Orientation, as `ExifInterface.TAG_ORIENTATION` gives it.
 */
public enum class ImageOrientation(public val exifCode: Int) {
  UP(1),
  DOWN(3),

  /** Clockwise by 90 degrees. */
  RIGHT(6),

  /** Counterclockwise by 90 degrees. */
  LEFT(8),
}

/** The order of the chroma of an image in two planes. */
public enum class YuvFormat {
  /** Blue first. */
  NV12,

  /** Red first. */
  NV21,
}

/** The range of luma and chroma. */
public enum class YuvRange {
  /** Luma from 16 to 235, chroma from 16 to 240. */
  VIDEO,

  /** From 0 to 255. */
  FULL,
}

/**
 * Element = (byte * [scaleFactor] - mean) / standardDeviation, by channel: red, green, blue.
 *
 * @param mean three numbers.
 * @param standardDeviation three positive numbers.
 */
public class Normalization(public val scaleFactor: Float, mean: FloatArray, standardDeviation: FloatArray) {
  public val mean: FloatArray = mean.copyOf()
  public val standardDeviation: FloatArray = standardDeviation.copyOf()
  internal val converted = org.pytorch.executorch.ImageNormalization(scaleFactor, mean, standardDeviation)

  public companion object {
    /** Bytes from 0 to 255 become 0 to 1. */
    @JvmStatic public fun zeroToOne(): Normalization = Normalization(1f / 255, FloatArray(3), floatArrayOf(1f, 1f, 1f))

    /** The mean and the standard deviation of ImageNet, which torchvision's models are trained with. */
    @JvmStatic
    public fun imagenet(): Normalization =
      Normalization(1f / 255, floatArrayOf(0.485f, 0.456f, 0.406f), floatArrayOf(0.229f, 0.224f, 0.225f))
  }
}

/**
 * The settings of an [ImageProcessor].
 *
 * @property letterboxAnchor where an image is in the target, for [ResizeMode.LETTERBOX].
 * @property padValue the value of padding elements; it is not normalized.
 */
public data class ImageProcessorConfig(
  val targetWidth: Int = 224,
  val targetHeight: Int = 224,
  val resizeMode: ResizeMode = ResizeMode.STRETCH,
  val letterboxAnchor: LetterboxAnchor = LetterboxAnchor.CENTER,
  val padValue: Float = 0f,
  val normalization: Normalization = Normalization.zeroToOne(),
) {
  init {
    require(targetWidth > 0 && targetHeight > 0) {
      "expected a target with pixels, found a width of $targetWidth and a height of $targetHeight"
    }
  }

  /** Sets one property after the other, for Java. */
  public class Builder {
    private var config = ImageProcessorConfig()

    public fun setTargetSize(width: Int, height: Int): Builder = apply {
      config = config.copy(targetWidth = width, targetHeight = height)
    }

    public fun setResizeMode(resizeMode: ResizeMode): Builder = apply { config = config.copy(resizeMode = resizeMode) }

    public fun setLetterboxAnchor(letterboxAnchor: LetterboxAnchor): Builder = apply {
      config = config.copy(letterboxAnchor = letterboxAnchor)
    }

    public fun setPadValue(padValue: Float): Builder = apply { config = config.copy(padValue = padValue) }

    public fun setNormalization(normalization: Normalization): Builder = apply {
      config = config.copy(normalization = normalization)
    }

    public fun build(): ImageProcessorConfig = config
  }
}

/**
 * The padding of an image in the target.
 *
 * @property x columns to the left of it.
 * @property y rows above it.
 */
public data class LetterboxPadding(val x: Int, val y: Int)
