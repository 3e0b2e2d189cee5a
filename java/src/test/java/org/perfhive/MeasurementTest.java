package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.fails;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;

class MeasurementTest {
    private static DataSources sources;

    @BeforeAll
    static void open() {
        sources = DataSources.open("local:");
    }

    @AfterAll
    static void close() {
        sources.close();
    }

    @Test
    void sensorsHaveNamesKindsTypesAndInstances() {
        DataSource source = sources.get("LINUX.procfs");
        List<Sensor> all = source.sensors();
        assertTrue(all.size() > 300, "" + all.size());
        Sensor time = sources.find(SensorName.of(Machine.SOURCE, "process", "% processor time")
                .withInstance("*")).sensor();
        assertEquals("linux.procfs/Process/%25 Processor Time", time.toString());
        assertEquals(SensorKind.COUNTER, time.kind());
        assertEquals(ValueType.DOUBLE, time.valueType());
        assertEquals("%", time.unit());
        assertFalse(time.help().isBlank());
        StaticSensor process = (StaticSensor) time;
        assertTrue(process.hasInstances());
        assertTrue(process.instances().contains("" + Machine.PID));
        Sensor free = sources.find(SensorName.of(Machine.SOURCE, "Memory", "Available Bytes")).sensor();
        assertTrue(free instanceof SingleSensor);
        assertEquals(SensorKind.GAUGE, free.kind());
        assertEquals(ValueType.INT64, free.valueType());
        assertTrue(all.stream().anyMatch(sensor -> sensor.name().equals(free.name())));
    }

    @Test
    void wrongNamesAreExceptionsThatNameTheNearest() {
        String near = fails(Kind.UNKNOWN_SENSOR, () -> MeasurementContext.of(
                sources, Machine.sensor("Memory", "Availble Bytes"))).getMessage();
        assertTrue(near.contains("Available Bytes"), near);
        fails(Kind.BAD_NAME, () -> MeasurementContext.of(sources, "nonsense"));
        fails(Kind.UNKNOWN_SOURCE, () -> MeasurementContext.of(sources, "x/Memory/Available Bytes"));
        fails(Kind.INSTANCES, () -> MeasurementContext.of(
                sources, Machine.sensor("Process", "ID Process")));
        fails(Kind.INSTANCES, () -> MeasurementContext.of(
                sources, Machine.sensor("Memory", "Available Bytes") + "#1"));
        assertTrue(fails(Kind.UNKNOWN_INSTANCE, () -> MeasurementContext.of(
                sources, Machine.sensor("Process", "ID Process") + "#none")).isMisuse());
        assertFalse(fails(Kind.SOURCE, () -> DataSources.open("file:missing.bin")).isMisuse());
        assertTrue(fails(Kind.REFUSED, () -> DataSources.open("http://x")).isMisuse());
        fails(Kind.SAME_NAME, () -> DataSources.open("local:", "local:"));
    }

    @Test
    void newBuffersAreNoAnomaly() {
        try (MeasurementContext context = MeasurementContext.of(sources,
                Machine.sensor("Memory", "Available Bytes"), Machine.own("% Processor Time"))) {
            for (int round = 0; round < 5; round++) {
                context.cycle();
                assertEquals(List.of(), context.record().anomalies());
            }
        }
    }

    @Test
    void namesPrintAndParse() {
        SensorName name = SensorName.of("a%", "b/c", "d#e ü").withInstance("#/%*");
        assertEquals("a%25/b%2Fc/d%23e ü#%23%2F%25*", name.toString());
        assertEquals(name, SensorName.parse(name.toString()));
        assertEquals(Optional.empty(), SensorName.parse("a/b/c").instance());
        assertEquals("windows.winperf", SensorName.parse("win32.winperf/b/c").source());
    }

    @Test
    void onlyThePermittedOperationsArePossibleInEachState() {
        try (MeasurementContext context =
                MeasurementContext.of(sources, Machine.own("ID Process"))) {
            assertEquals(State.INITIALIZED, context.state());
            fails(Kind.STATE, context::sample);
            fails(Kind.STATE, context::decode);
            assertEquals((double) Machine.PID, context.values().approximately(0));
            context.prepare();
            context.prepare();
            assertEquals(State.PREPARED, context.state());
            fails(Kind.STATE, context::decode);
            fails(Kind.STATE, context::values);
            fails(Kind.STATE, context::record);
            context.sample();
            assertEquals(State.SAMPLED, context.state());
            fails(Kind.STATE, context::sample);
            fails(Kind.STATE, context::values);
            assertNotNull(context.record());
            context.prepare();
            context.sample();
            String message = fails(Kind.STATE, context::sample).getMessage();
            assertEquals("sample is not possible in state SAMPLED", message);
            assertEquals(1, context.decode().size());
            assertEquals(State.INITIALIZED, context.state());
        }
    }

    /** The first cycle has rates: the baseline was taken when the context was made. */
    @Test
    void processorTimeIsWithinWhatTheJvmAndProcSay() throws Exception {
        com.sun.management.OperatingSystemMXBean jvm =
                (com.sun.management.OperatingSystemMXBean)
                        ManagementFactory.getOperatingSystemMXBean();
        long outerTime = jvm.getProcessCpuTime();
        long outerTicks = Machine.ticks();
        long begun = System.nanoTime();
        try (MeasurementContext context = MeasurementContext.of(
                sources, Machine.own("% Processor Time"), Machine.own("ID Process"))) {
            long ready = System.nanoTime();
            long innerTime = jvm.getProcessCpuTime();
            long innerTicks = Machine.ticks();
            assertTrue(Machine.work(300_000_000) > 0);
            context.prepare();
            long leastTime = jvm.getProcessCpuTime() - innerTime;
            long leastTicks = Machine.ticks() - innerTicks;
            long shortest = System.nanoTime() - ready;
            context.sample();
            long mostTime = jvm.getProcessCpuTime() - outerTime;
            long mostTicks = Machine.ticks() - outerTicks;
            long longest = System.nanoTime() - begun;
            Readings readings = context.decode();
            double percent = readings.get(0).value().orElseThrow().doubleValue();
            // /proc counts user and system time in ticks of 10 ms each, and the JVM in nanoseconds.
            double tick = 2e7;
            double least = 100 * (leastTicks * 1e7 - tick) / longest;
            double most = 100 * (mostTicks * 1e7 + tick) / shortest;
            String shown = percent + " of " + least + " to " + most;
            assertTrue(least <= percent && percent <= most, shown);
            assertTrue(100 * (leastTime - tick) / longest <= percent, shown);
            assertTrue(percent <= 100 * (mostTime + tick) / shortest, shown);
            assertEquals(Machine.PID, readings.get(1).value().orElseThrow().longValue());
        }
    }

    @Test
    void memoryThreadsAndWrittenBytesAreWithinWhatProcSays() throws Exception {
        try (MeasurementContext context = MeasurementContext.of(sources,
                Machine.own("Working Set"),
                Machine.own("Thread Count"),
                Machine.own("IO Write Bytes/sec"))) {
            Path file = Path.of(System.getProperty("perfhive.work"), "written");
            byte[] block = new byte[1 << 20];
            long before = Machine.status("VmRSS") * 1024;
            int threads = ManagementFactory.getThreadMXBean().getThreadCount();
            context.section(() -> {
                for (int round = 0; round < 8; round++) {
                    Files.write(file, block);
                }
                return null;
            });
            long after = Machine.status("VmRSS") * 1024;
            Files.delete(file);
            Readings readings = context.values();
            long set = readings.get(0).value().orElseThrow().longValue();
            // Pages come and go between the three readings.
            long room = 64 << 20;
            assertTrue(Math.min(before, after) - room <= set && set <= Math.max(before, after) + room,
                    set + " of " + before + " and " + after);
            long counted = readings.get(1).value().orElseThrow().longValue();
            // The JVM counts Java's threads only.
            assertTrue(threads <= counted && counted <= Machine.status("Threads") + 16,
                    counted + " of " + threads);
            long written = readings.get(2).difference().orElseThrow();
            assertTrue(written >= 8L << 20 && written < 16L << 20, "" + written);
        }
    }

    @Test
    void clocksAndAnomaliesAreInTheRecord() throws Exception {
        MeasurementOptions options = MeasurementOptions.DEFAULT
                .withTimes(TimeSource.Clock.values())
                .withPatience(Duration.ofSeconds(30));
        List<SensorName> names = List.of(SensorName.parse(Machine.sensor("Process", "ID Process") + "#*"));
        try (MeasurementContext context = MeasurementContext.of(sources, names, options)) {
            context.cycle();
            Process child = new ProcessBuilder("sleep", "60").start();
            try {
                Readings readings = context.cycle();
                assertTrue(readings.stream().anyMatch(
                        reading -> reading.slot().instance().equals(Optional.of("" + child.pid()))));
            } finally {
                child.destroyForcibly().waitFor();
            }
            SampleRecord record = context.record();
            Anomaly born = record.anomalies().stream()
                    .filter(anomaly -> anomaly.code() == Anomaly.Code.BORN)
                    .findFirst()
                    .orElseThrow();
            assertTrue(born.count() >= 1 && born.subject().equals("linux.procfs/Process"));
            assertEquals(
                    List.of("wall", "monotonic", "performance-counter", "process-cpu", "thread-cpu"),
                    record.times().stream().map(SampleRecord.TimeReading::label).toList());
            for (SampleRecord.TimeReading time : record.times()) {
                assertTrue(time.before().orElseThrow() <= time.after().orElseThrow(), time.label());
            }
            SampleRecord.TimeReading monotonic = record.times().get(1);
            long around = monotonic.after().getAsLong() - monotonic.before().getAsLong();
            assertTrue(around >= record.duration().toNanos());
            long wall = record.times().get(0).before().getAsLong() / 1_000_000;
            assertTrue(Math.abs(System.currentTimeMillis() - wall) < 60_000);
            assertTrue(TimeSource.Clock.WALL.resolution().toNanos() > 0);
            assertEquals(Duration.ZERO, record.age());
            context.cycle();
            assertTrue(context.record().anomalies().stream()
                    .anyMatch(anomaly -> anomaly.code() == Anomaly.Code.GONE));
        }
    }

    @Test
    void slotsStayTheSameObjectsAndReadingsThatAreKeptDoNotChange() throws Exception {
        try (MeasurementContext context = MeasurementContext.of(
                sources, Machine.own("Elapsed Time"), Machine.sensor("Process", "ID Process") + "#*")) {
            Readings readings = context.cycle();
            SensorReading kept = readings.get(0);
            String shown = kept.toString();
            SensorSlot last = readings.slot(1);
            Thread.sleep(20);
            Readings stale = readings;
            readings = context.cycle();
            assertThrows(ConcurrentModificationException.class, () -> stale.approximately(0));
            assertSame(kept.slot(), readings.slot(0));
            assertSame(last, readings.slot(1));
            assertEquals(shown, kept.toString());
            assertTrue(readings.approximately(0) > kept.value().orElseThrow().doubleValue());
            for (int place = 0; place < readings.size(); place++) {
                assertEquals(readings.hasValue(place), readings.get(place).value().isPresent());
                assertEquals(Math.min(place, 1), readings.get(place).asked());
            }
            assertTrue(readings.valueOf(SensorName.parse(Machine.own("ID Process"))).isPresent());
            assertTrue(readings.valueOf(SensorName.parse(Machine.own("id process"))).isPresent());
            assertTrue(readings.valueOf(SensorName.parse(Machine.own("id"))).isEmpty());
        }
    }

    @Test
    void valuesStayWithTheirInstancesWhileProcessesComeAndGo() throws Exception {
        String ids = Machine.sensor("Process", "ID Process") + "#*";
        java.util.Deque<Process> children = new java.util.ArrayDeque<>();
        try (MeasurementContext context =
                MeasurementContext.of(sources, ids, Machine.sensor("Process", "Thread Count") + "#*")) {
            for (int round = 0; round < 30; round++) {
                children.add(new ProcessBuilder("sleep", "60").start());
                if (round % 3 == 2) {
                    // Not the newest, so that others move up.
                    children.removeFirst().destroyForcibly().waitFor();
                }
                Readings readings = context.cycle();
                int checked = 0;
                for (SensorReading reading : readings) {
                    String instance = reading.slot().instance().orElseThrow();
                    if (reading.asked() == 0 && instance.matches("[1-9][0-9]*") && reading.value().isPresent()) {
                        assertEquals(instance, reading.value().orElseThrow().toString());
                        checked++;
                    }
                }
                assertTrue(checked > children.size(), "" + checked);
                long newest = children.getLast().pid();
                assertTrue(readings.stream()
                        .filter(reading -> reading.slot().instance().equals(Optional.of("" + newest)))
                        .anyMatch(reading -> reading.asked() == 0));
            }
        } finally {
            for (Process child : children) {
                child.destroyForcibly().waitFor();
            }
        }
    }

    @Test
    void aProcessThatEndedHasVanishedAndStaysSo() throws Exception {
        Process child = new ProcessBuilder("sleep", "60").start();
        String name = Machine.sensor("Process", "Working Set") + "#" + child.pid();
        try (MeasurementContext context = MeasurementContext.of(sources, name)) {
            assertTrue(context.cycle().hasValue(0));
            child.destroyForcibly().waitFor();
            for (int cycle = 0; cycle < 2; cycle++) {
                Readings readings = context.cycle();
                assertFalse(readings.hasValue(0));
                assertTrue(Double.isNaN(readings.approximately(0)));
                NoValue why = readings.get(0).noValue().orElseThrow();
                assertEquals("vanished", why.code());
                assertEquals(OptionalLong.empty(), readings.get(0).raw());
            }
        } finally {
            child.destroyForcibly();
        }
    }

    @Test
    void aSectionIsMeasuredFromItsBeginningToItsEnd() throws Exception {
        try (MeasurementContext context =
                MeasurementContext.of(sources, Machine.own("% Processor Time"))) {
            Thread.sleep(50);
            long outer = System.nanoTime();
            double result = context.section(() -> Machine.work(100_000_000));
            long length = System.nanoTime() - outer;
            assertTrue(result > 0);
            // In units of 100 ns; all threads of this program count.
            long used = context.values().get(0).difference().orElseThrow() * 100;
            int processors = Runtime.getRuntime().availableProcessors();
            assertTrue(used <= length * processors + 20_000_000, used + " of " + length);
            IllegalStateException own = new IllegalStateException("own");
            assertSame(own, org.junit.jupiter.api.Assertions.assertThrows(
                    IllegalStateException.class,
                    () -> context.section(() -> {
                        throw own;
                    })));
            assertEquals(1, context.cycle().size());
        }
    }

    @Test
    void threadsWhoseClassLoaderDoesNotSeeTheJarFindThisMachine() throws Exception {
        Thread thread = Thread.currentThread();
        ClassLoader own = thread.getContextClassLoader();
        thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
        try (DataSources loaded = DataSources.load()) {
            assertTrue(loaded.stream().anyMatch(source -> source.name().equals(Machine.SOURCE)));
        } finally {
            thread.setContextClassLoader(own);
        }
    }

    @Test
    void anEmptyPathOfTheLibraryIsNone() {
        System.setProperty(NativeLibrary.PROPERTY, "");
        try {
            assertEquals(Optional.empty(), NativeLibrary.given());
            System.setProperty(NativeLibrary.PROPERTY, "/opt/lib.so");
            assertEquals(Optional.of(Path.of("/opt/lib.so")), NativeLibrary.given());
        } finally {
            System.clearProperty(NativeLibrary.PROPERTY);
        }
    }

    @Test
    void theServiceLoaderFindsThisMachineAndTheJarsLibrary() {
        try (DataSources loaded = DataSources.load()) {
            assertEquals(List.of(Machine.SOURCE, JavaSourceTest.NAME),
                    loaded.stream().map(DataSource::name).sorted().toList());
            assertEquals(null, System.getProperty(NativeLibrary.PROPERTY));
        }
    }
}
