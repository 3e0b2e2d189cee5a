import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.perfhive.DataSources;
import org.perfhive.MeasurementContext;
import org.perfhive.MeasurementOptions;
import org.perfhive.SensorName;
import org.perfhive.SensorReading;
import org.perfhive.TimeSource;

/**
 * Measures code points of a program: what two sections of it cost the process in processor time, in
 * page faults and in bytes written. The program shows itself; no other process is read.
 */
public final class CodePoints {
    private CodePoints() {}

    public static void main(String[] args) throws Exception {
        String own = "" + ProcessHandle.current().pid();
        List<SensorName> sensors = List.of(
                SensorName.of("linux.procfs", "Process", "% Processor Time").withInstance(own),
                SensorName.of("linux.procfs", "Process", "Page Faults/sec").withInstance(own),
                SensorName.of("linux.procfs", "Process", "IO Write Bytes/sec").withInstance(own));
        MeasurementOptions options =
                MeasurementOptions.DEFAULT.withTimes(TimeSource.Clock.PROCESS_CPU);
        try (DataSources sources = DataSources.open("local:");
                MeasurementContext context = MeasurementContext.of(sources, sensors, options)) {
            double root = context.section(CodePoints::compute);
            show("compute", context);
            long bytes = context.section(CodePoints::write);
            show("write", context);
            System.out.println(root > 0 && bytes > 0 ? "both sections ran" : "nothing ran");
        }
    }

    private static void show(String section, MeasurementContext context) {
        System.out.println(section + ", sampled in " + context.record().duration());
        for (SensorReading reading : context.values()) {
            // Processor time is counted in units of 100 ns, the others as they are.
            String counted = reading.difference().isPresent()
                    ? reading.difference().getAsLong() + " counted"
                    : "nothing counted";
            System.out.println("  " + reading + ", " + counted);
        }
    }

    private static double compute() {
        double sum = 0;
        for (int step = 1; step < 20_000_000; step++) {
            sum += Math.sqrt(step);
        }
        return sum;
    }

    private static long write() throws Exception {
        Path file = Files.createTempFile("perfhive", ".tmp");
        try {
            Files.write(file, new byte[4 << 20]);
            return Files.size(file);
        } finally {
            Files.delete(file);
        }
    }
}
