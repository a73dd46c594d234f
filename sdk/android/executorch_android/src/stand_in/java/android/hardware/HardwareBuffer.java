// SPDX-License-Identifier: BSD-3-Clause
package android.hardware;

/** Memory that devices share. */
public final class HardwareBuffer implements AutoCloseable {
  public static final int RGBA_8888 = 1;
  public static final int YCBCR_420_888 = 0x23;
  public static final long USAGE_GPU_SAMPLED_IMAGE = 0x100;

  private final int width;
  private final int height;
  private final int format;
  private final long usage;

  /** Not in Android: the colours, in the form that Bitmap.createBitmap() takes. */
  public final int[] colors;

  private boolean isClosed;

  /** Not in Android. */
  public HardwareBuffer(int[] colors, int width, int height, int format, long usage) {
    this.colors = colors;
    this.width = width;
    this.height = height;
    this.format = format;
    this.usage = usage;
  }

  public int getWidth() {
    return width;
  }

  public int getHeight() {
    return height;
  }

  public int getFormat() {
    return format;
  }

  public long getUsage() {
    return usage;
  }

  public boolean isClosed() {
    return isClosed;
  }

  @Override
  public void close() {
    isClosed = true;
  }
}
