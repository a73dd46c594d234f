// SPDX-License-Identifier: BSD-3-Clause
package android.content.res;

import android.os.ParcelFileDescriptor;
import java.io.Closeable;
import java.io.IOException;

/** A part of an open file. */
public class AssetFileDescriptor implements Closeable {
  public static final long UNKNOWN_LENGTH = -1;

  private final ParcelFileDescriptor file;
  private final long startOffset;
  private final long length;

  public AssetFileDescriptor(ParcelFileDescriptor file, long startOffset, long length) {
    this.file = file;
    this.startOffset = startOffset;
    this.length = length;
  }

  public ParcelFileDescriptor getParcelFileDescriptor() {
    return file;
  }

  public long getStartOffset() {
    return startOffset;
  }

  public long getLength() {
    return length;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
