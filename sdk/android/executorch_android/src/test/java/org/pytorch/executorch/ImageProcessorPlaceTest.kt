// SPDX-License-Identifier: BSD-3-Clause
package org.pytorch.executorch

import android.graphics.Bitmap
import java.nio.ByteBuffer
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import org.junit.jupiter.api.Test
import org.pytorch.executorch.extension.image.ImageOrientation
import org.pytorch.executorch.extension.image.ImageProcessor
import org.pytorch.executorch.extension.image.ImageProcessorConfig
import org.pytorch.executorch.extension.image.LetterboxAnchor
import org.pytorch.executorch.extension.image.LetterboxPadding
import org.pytorch.executorch.extension.image.Normalization
import org.pytorch.executorch.extension.image.ResizeMode
import org.pytorch.executorch.extension.image.YuvFormat
import org.pytorch.executorch.extension.image.YuvRange

/** The image processor in ExecuTorch's package. It uses the one of org.pytorch.executorch, which AndroidInputsTest tests. */
internal class ImageProcessorPlaceTest {
  private val plain = Normalization(1f, FloatArray(3), floatArrayOf(1f, 1f, 1f))
  private val image = Bitmap.createBitmap(intArrayOf(0xFF010203.toInt(), 0xFF040506.toInt()), 2, 1, Bitmap.Config.ARGB_8888)

  private fun direct(vararg bytes: Int): ByteBuffer =
    Tensor.allocateByteBuffer(bytes.size).also { buffer -> bytes.forEach { buffer.put(it.toByte()) } }

  @Test
  fun bitmaps() {
    ImageProcessor(ImageProcessorConfig(2, 1, normalization = plain)).use { processor ->
      assertContentEquals(longArrayOf(1, 3, 1, 2), processor.computeOutputShape(640, 480))
      assertContentEquals(floatArrayOf(1f, 4f, 2f, 5f, 3f, 6f), processor.process(image).dataAsFloatArray)
      assertContentEquals(floatArrayOf(4f, 1f, 5f, 2f, 6f, 3f), processor.process(image, ImageOrientation.DOWN).dataAsFloatArray)
      val reused = Tensor.zeros(longArrayOf(1, 3, 1, 2), DType.FLOAT)
      processor.processInto(image, reused)
      assertContentEquals(floatArrayOf(1f, 4f, 2f, 5f, 3f, 6f), reused.dataAsFloatArray)
      assertFailsWith<IllegalArgumentException> { processor.processInto(image, Tensor.zeros(longArrayOf(1, 3, 2, 2), DType.FLOAT)) }
    }
  }

  /** The planes of CameraX end before the last byte. */
  @Test
  fun cameraFrames() {
    val processor = ImageProcessor(ImageProcessorConfig(2, 2, normalization = plain))
    val luma = direct(0, 255, 0, 255)
    for (format in YuvFormat.values()) {
      val whole = processor.processYuv(luma, 2, direct(128, 128), 2, 2, 2, format, range = YuvRange.FULL).dataAsFloatArray
      for (i in whole.indices) assertEquals(if (i % 2 == 0) 0f else 255f, whole[i], 0.01f)
    }
    val wide = direct(*IntArray(8) { 100 })
    val tensor = Tensor.zeros(longArrayOf(1, 3, 2, 2), DType.FLOAT)
    processor.processYuvInto(wide, 4, direct(90, 160, 90), 4, 4, 2, YuvFormat.NV12, tensor)
    val whole = processor.processYuv(wide, 4, direct(90, 160, 90, 160), 4, 4, 2, YuvFormat.NV12)
    assertContentEquals(whole.dataAsFloatArray, tensor.dataAsFloatArray)
    assertFailsWith<IllegalArgumentException> { processor.processYuv(wide, 4, direct(90, 160), 4, 4, 2, YuvFormat.NV12) }
  }

  @Test
  fun settings() {
    val config =
      ImageProcessorConfig.Builder()
        .setTargetSize(4, 4)
        .setResizeMode(ResizeMode.LETTERBOX)
        .setPadValue(-7f)
        .setNormalization(plain)
        .build()
    assertEquals(LetterboxPadding(0, 1), ImageProcessor(config).computeLetterboxPadding(2, 1))
    assertEquals(LetterboxPadding(1, 0), ImageProcessor(config).computeLetterboxPadding(2, 1, ImageOrientation.RIGHT))
    val corner = ImageProcessor(config.copy(letterboxAnchor = LetterboxAnchor.TOP_LEFT))
    assertEquals(LetterboxPadding(0, 0), corner.computeLetterboxPadding(2, 1))
    assertEquals(-7f, corner.process(image).dataAsFloatArray[15])
    corner.close()
    assertEquals(false, corner.isValid)
    assertFailsWith<IllegalStateException> { corner.process(image) }
    assertFailsWith<IllegalArgumentException> { ImageProcessorConfig(targetWidth = 0) }
    assertFailsWith<IllegalArgumentException> { Normalization(1f, FloatArray(2), FloatArray(3)) }
  }
}
