package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.function.Executable;

/** What the tests know of this machine. */
final class Machine {
    static final String SOURCE = "linux.procfs";
    static final long PID = ProcessHandle.current().pid();

    private Machine() {}

    static String sensor(String group, String sensor) {
        return SensorName.of(SOURCE, group, sensor).toString();
    }

    static String own(String sensor) {
        return SensorName.of(SOURCE, "Process", sensor).withInstance("" + PID).toString();
    }

    /** A field of a file of /proc/self in kilobytes or as a plain number. */
    static long status(String field) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(field + ":")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new AssertionError("no " + field);
    }

    /** Processor time of this process in ticks of the kernel's clock, by /proc. */
    static long ticks() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
    }

    static PerfhiveException fails(PerfhiveException.Kind kind, Executable call) {
        PerfhiveException error = assertThrows(PerfhiveException.class, call);
        assertEquals(kind, error.kind(), error.getMessage());
        assertTrue(error.getMessage() != null && !error.getMessage().isBlank());
        return error;
    }

    /** A closed object is named. */
    static void isClosed(String what, Executable call) {
        IllegalStateException error = assertThrows(IllegalStateException.class, call);
        assertEquals("the " + what + " is closed", error.getMessage());
    }

    /** Keeps a processor busy, and returns something of it. */
    static double work(long nanos) {
        double sum = 0;
        for (long end = System.nanoTime() + nanos; System.nanoTime() < end; ) {
            for (int step = 1; step < 1000; step++) {
                sum += Math.sqrt(step);
            }
        }
        return sum;
    }
}
