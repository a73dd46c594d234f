// SPDX-License-Identifier: BSD-3-Clause
package android.os;

import java.io.Closeable;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.lang.reflect.Field;

/** An open file. */
public class ParcelFileDescriptor implements Closeable {
  public static final int MODE_READ_ONLY = 0x10000000;

  private final FileInputStream stream;

  private ParcelFileDescriptor(FileInputStream stream) {
    this.stream = stream;
  }

  public static ParcelFileDescriptor open(File file, int mode) throws FileNotFoundException {
    return new ParcelFileDescriptor(new FileInputStream(file));
  }

  public int getFd() {
    try {
      Field number = FileDescriptor.class.getDeclaredField("fd");
      number.setAccessible(true);
      return number.getInt(stream.getFD());
    } catch (IOException | ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() throws IOException {
    stream.close();
  }
}
