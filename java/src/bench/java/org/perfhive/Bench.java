package org.perfhive;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleSupplier;

/**
 * What crosses from the native library, and a snapshot of all processes. As JMH does it: each way is
 * warmed up until it is compiled, the ways take turns in rounds, each round repeats one for a fixed
 * time, results go where the compiler cannot drop them, and figures are medians. Times are processor
 * time of the measuring thread, so that other programs count for little.
 */
public final class Bench {
    private static final int VALUES = 10_000;
    private static final int WARM_UP = 10;
    private static final int ROUNDS = 41;
    private static final long ROUND_NANOS = 20_000_000;
    private static final int PROCESSES = 591;
    private static final int SENSORS = 9;
    private static final int ROUNDS_OF_ALL = 201;
    private static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Where results go. */
    private static volatile double sink;

    private static double[] column = {};

    private Bench() {}

    /** One way, with its nanoseconds for each call in each round. */
    private static final class Way {
        final String name;
        final int perCall;
        final String goal;
        final DoubleSupplier work;
        final double[] nanos = new double[ROUNDS];
        final int batch;

        Way(String name, int perCall, String goal, DoubleSupplier work) {
            this.name = name;
            this.perCall = perCall;
            this.goal = goal;
            this.work = work;
            this.batch = perCall == 1 ? 4096 : 16;
        }

        double round() {
            long begun = THREADS.getCurrentThreadCpuTime();
            long calls = 0;
            double sum = 0;
            long now;
            do {
                // Reading the clock costs more than a short call.
                for (int call = 0; call < batch; call++) {
                    sum += work.getAsDouble();
                }
                calls += batch;
                now = THREADS.getCurrentThreadCpuTime();
            } while (now - begun < ROUND_NANOS);
            sink = sum;
            return (now - begun) / (double) calls;
        }

        double median() {
            double[] sorted = nanos.clone();
            Arrays.sort(sorted);
            return sorted[ROUNDS / 2];
        }
    }

    /** Reads each value: into two sums, since one would have to wait for itself. */
    private static long read(long[] values, int count) {
        long even = 0;
        long odd = 0;
        for (int place = 1; place < count; place += 2) {
            even += values[place - 1];
            odd += values[place];
        }
        return count % 2 == 0 ? even + odd : even + odd + values[count - 1];
    }

    private static void measure(List<Way> ways) {
        for (int round = -WARM_UP; round < ROUNDS; round++) {
            for (Way way : ways) {
                double nanos = way.round();
                if (round >= 0) {
                    way.nanos[round] = nanos;
                }
            }
        }
    }

    /** Runs the benchmark. */
    public static void main(String[] args) throws Exception {
        String load = load();
        List<Process> sleepers = new ArrayList<>();
        try (DataSources sources = DataSources.open("local:")) {
            for (long process = ProcessHandle.allProcesses().count(); process < PROCESSES; process++) {
                sleepers.add(new ProcessBuilder("sleep", "600").start());
            }
            crossing(sources);
            calls(sources);
            processes(sources);
        } finally {
            sleepers.forEach(Process::destroyForcibly);
            for (Process sleeper : sleepers) {
                sleeper.waitFor();
            }
        }
        System.out.println("\n" + Runtime.getRuntime().availableProcessors() + " processors; JDK "
                + Runtime.version() + "; load average " + load + " before, " + load() + " after.");
    }

    private static String load() throws IOException {
        String text = Files.readString(Path.of("/proc/loadavg"));
        return String.join(" ", Arrays.copyOf(text.split(" "), 3));
    }

    private static void crossing(DataSources sources) {
        String sensor = SensorName.of("linux.procfs", "Process", "Working Set") + "#*";
        int instances;
        try (MeasurementContext one = MeasurementContext.of(sources, sensor)) {
            instances = one.values().size();
        }
        // As often as it takes to have that many values.
        String[] names = new String[VALUES / instances + 1];
        Arrays.fill(names, sensor);
        String single = SensorName.of("linux.procfs", "Memory", "Available Bytes").toString();
        try (MeasurementContext many = MeasurementContext.of(sources, names);
                MeasurementContext one = MeasurementContext.of(sources, single)) {
            Readings readings = many.cycle();
            one.cycle();
            int count = readings.size();
            long handle = ((CounterProbeContext) many.part(0)).handle();
            long small = ((CounterProbeContext) one.part(0)).handle();
            long[] bits = new long[count];
            double[] doubles = new double[count];
            ProbeReadings arrays = many.arrays(0);
            int[] facts = new int[5];
            List<Way> ways = new ArrayList<>();
            long[] source = new long[count];
            ways.add(new Way("for comparison: `System.arraycopy`, and reading each", count, "", () -> {
                System.arraycopy(source, 0, bits, 0, count);
                return read(bits, count);
            }));
            // The first step is what decode does with the values.
            ways.add(new Way("values: library to `Readings`, `copyValues` to longs, reading each", count,
                    "<= 0.5", () -> {
                Native.values(handle, arrays.bits);
                long sum = 0;
                for (int asked = 0; asked < names.length; asked++) {
                    sum += read(bits, readings.copyValues(asked, bits, 0));
                }
                return sum;
            }));
            ways.add(new Way("the same to doubles, into which each is converted", count, "", () -> {
                Native.values(handle, arrays.bits);
                long sum = 0;
                for (int asked = 0; asked < names.length; asked++) {
                    int copied = readings.copyValues(asked, doubles);
                    for (int place = 0; place < copied; place++) {
                        // A sum of doubles would take longer than the rest.
                        sum += Double.doubleToRawLongBits(doubles[place]);
                    }
                }
                return sum;
            }));
            ways.add(new Way("raw values, now and before: library to `Readings`", count, "", () -> {
                Native.rawValues(handle, arrays.raw, arrays.before);
                return arrays.raw[0] + arrays.before[0];
            }));
            ways.add(new Way("reading each by `Readings.approximately`", count, "", () -> {
                double sum = 0;
                for (int place = 0; place < count; place++) {
                    sum += readings.approximately(place);
                }
                return sum;
            }));
            ways.add(new Way("for comparison: one call for each value", count, "", () -> {
                long sum = 0;
                for (int place = 0; place < count; place++) {
                    sum += Native.value(handle, place);
                }
                return sum;
            }));
            ways.add(new Way("a call: facts of a context", 1, "<= 60", () -> {
                Native.facts(small, facts);
                return facts[0];
            }));
            ways.add(new Way("a call: all values of a context of one", 1, "<= 60", () -> {
                Native.values(small, bits);
                return bits[0];
            }));
            ways.add(new Way("a call: wall time", 1, "<= 60", () ->
                    Native.now(TimeSource.Clock.WALL.ordinal())));
            measure(ways);
            System.out.println("\n" + count + " values; medians of " + ROUNDS
                    + " interleaved rounds of 20 ms of processor time.\n");
            System.out.println("| what crosses | ns a call | ns a value | goal | |");
            System.out.println("|---|---:|---:|---|---|");
            for (Way way : ways) {
                double each = way.median() / way.perCall;
                String reached = way.goal.isEmpty()
                        ? ""
                        : each <= Double.parseDouble(way.goal.substring(3)) ? "reached" : "MISSED";
                System.out.println(String.format(Locale.ROOT, "| %s | %.1f | %s | %s | %s |",
                        way.name, way.median(),
                        way.perCall == 1 ? "" : String.format(Locale.ROOT, "%.3f", each),
                        way.goal.isEmpty() ? "" : way.goal + " ns", reached));
            }
        }
    }

    /** What a call costs a program during an experiment. */
    private static void calls(DataSources sources) throws Exception {
        String own = "#" + ProcessHandle.current().pid();
        String sensor = SensorName.of("linux.procfs", "Process", "Working Set") + own;
        try (Experiment experiment = Experiment.builder().capacity(1 << 16).start()) {
            experiment.bind(new EventSource.Calls("point", "section"), sources, sensor);
            System.out.println("\nCalls at points of the program; processor time of the calling thread, medians of "
                    + "201 rounds.\n");
            System.out.println("| a call | ns |");
            System.out.println("|---|---:|");
            calls("`call` of a name that is not bound", 100_000, 1, () -> experiment.call("other"));
            calls("`call`, of 50 in a row", 50, 1, () -> experiment.call("point"));
            calls("`section`, each of its two calls, of 50 in a row", 25, 2, () -> {
                try (var section = experiment.section("section")) {
                    sink = 1;
                }
            });
            calls("`call` that wakes the thread of the binding", 1, 1, () -> experiment.call("point"));
            ExperimentEnd end = experiment.end();
            System.out.println("\n" + end.bindings().get(0).events() + " events, " + end.lost()
                    + " without a record.");
        }
    }

    private static void calls(String name, int times, int perTime, Runnable work) throws Exception {
        long[] rounds = new long[201];
        for (int round = -200; round < rounds.length; round++) {
            long begun = THREADS.getCurrentThreadCpuTime();
            for (int time = 0; time < times; time++) {
                work.run();
            }
            long nanos = THREADS.getCurrentThreadCpuTime() - begun;
            if (round >= 0) {
                rounds[round] = nanos;
            }
            // The binding catches up, and sleeps again.
            Thread.sleep(2);
        }
        double each = median(rounds) / (double) times / perTime;
        System.out.println(String.format(Locale.ROOT, "| %s | %.1f |", name, each));
    }

    private static void processes(DataSources sources) throws Exception {
        String[] sensors = {
            "% Processor Time", "Working Set", "Private Bytes", "Page Faults/sec", "Thread Count",
            "IO Read Bytes/sec", "IO Write Bytes/sec", "IO Read Operations/sec", "IO Write Operations/sec"
        };
        String[] names = Arrays.stream(sensors)
                .map(sensor -> SensorName.of("linux.procfs", "Process", sensor) + "#*")
                .toArray(String[]::new);
        try (MeasurementContext context = MeasurementContext.of(sources, names)) {
            long handle = ((CounterProbeContext) context.part(0)).handle();
            Task java = () -> cycle(context);
            Task rust = () -> {
                Native.prepare(handle);
                Native.sample(handle, -1);
                Native.decode(handle);
            };
            double[] inARow = medians(0, java);
            double[] apart = medians(20, java);
            double[] rustInARow = medians(0, rust);
            double[] rustApart = medians(20, rust);
            double[] plain = medians(0, () -> sink = readPlainly());
            System.out.println("\n" + ProcessHandle.allProcesses().count()
                    + " processes, " + cycle(context) + " values; processor time, medians of " + ROUNDS_OF_ALL
                    + " rounds.\n");
            System.out.println("| all processes, from Java | time | goal | | Java heap | goal | |");
            System.out.println("|---|---:|---|---|---:|---|---|");
            System.out.println(String.format(Locale.ROOT,
                    "| %d counters of each: prepare, sample, decode, copy every value | %.2f ms"
                            + " | <= 3 ms | %s | %.2f KiB | <= 64 KiB | %s |",
                    SENSORS, inARow[0] / 1e6, inARow[0] <= 3e6 ? "reached" : "MISSED",
                    inARow[1] / 1024, inARow[1] <= 64 << 10 ? "reached" : "MISSED"));
            row("for comparison: prepare, sample and decode in Rust alone", rustInARow);
            row("the same as the first, 20 ms apart, when other programs have had the caches", apart);
            row("for comparison: as the second, 20 ms apart", rustApart);
            row("for comparison: reading `stat`, `statm` and `io` of each in Java, and no more", plain);
        }
    }

    private static void row(String what, double[] medians) {
        System.out.println(String.format(Locale.ROOT, "| %s | %.2f ms | | | %.2f KiB | | |",
                what, medians[0] / 1e6, medians[1] / 1024));
    }

    /** All stages and every value; returns the number of values. */
    private static int cycle(MeasurementContext context) {
        context.prepare();
        context.sample();
        Readings readings = context.decode();
        if (column.length < readings.count(0)) {
            column = new double[2 * readings.count(0)];
        }
        for (int asked = 0; asked < SENSORS; asked++) {
            sink = column[readings.copyValues(asked, column) - 1];
        }
        return readings.size();
    }

    /** What is measured in rounds. */
    private interface Task {
        void run() throws Exception;
    }

    /** The medians of processor time in nanoseconds, and of bytes allocated, with pauses between rounds. */
    private static double[] medians(long pauseMillis, Task work) throws Exception {
        long[] times = new long[ROUNDS_OF_ALL];
        long[] bytes = new long[ROUNDS_OF_ALL];
        for (int round = -50; round < ROUNDS_OF_ALL; round++) {
            Thread.sleep(pauseMillis);
            long before = THREADS.getCurrentThreadAllocatedBytes();
            long begun = THREADS.getCurrentThreadCpuTime();
            work.run();
            if (round >= 0) {
                times[round] = THREADS.getCurrentThreadCpuTime() - begun;
                bytes[round] = THREADS.getCurrentThreadAllocatedBytes() - before;
            }
        }
        return new double[] {median(times), median(bytes)};
    }

    private static double median(long[] values) {
        long[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** The least that a reader in Java does: the files of each process, not even parsed. */
    private static long readPlainly() {
        long bytes = 0;
        String[] names = new java.io.File("/proc").list();
        for (String name : names == null ? new String[0] : names) {
            if (!Character.isDigit(name.charAt(0))) {
                continue;
            }
            for (String file : new String[] {"stat", "statm", "io"}) {
                try {
                    bytes += Files.readAllBytes(Path.of("/proc", name, file)).length;
                } catch (IOException ended) {
                    continue;
                }
            }
        }
        return bytes;
    }
}
