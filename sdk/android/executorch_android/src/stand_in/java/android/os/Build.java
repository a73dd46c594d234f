// SPDX-License-Identifier: BSD-3-Clause
package android.os;

/** The version of the system. */
public class Build {
  public static class VERSION {
    /** Android's field is final. Tests can set this one. */
    public static int SDK_INT = 35;
  }
}
