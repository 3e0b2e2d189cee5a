package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.fails;
import static org.perfhive.Machine.isClosed;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;

/** Handles abused in every way. The JVM survives all of it. */
class HandleTest {
    @Test
    void staleForeignAndMadeUpHandlesAreExceptions() {
        CounterDataSource source = new CounterDataSource();
        CounterSnapshot snapshot = CounterSnapshot.createSnapshot(
                source, SnapshotType.CUSTOM, new SnapshotInput(4, 0));
        long handle = source.object().handle();
        assertTrue(handle > 0);
        // Of another kind.
        fails(Kind.HANDLE, () -> Native.prepare(handle));
        fails(Kind.HANDLE, () -> new Message.Request().int64(handle).send(Native.Op.SNAPSHOT_PREPARE));
        fails(Kind.HANDLE, () -> new Message.Request().int64(handle).int32(0).send(Native.Op.COUNTER_NEXT));
        snapshot.close();
        source.close();
        // Closed twice, as Java closes and as the table does.
        source.close();
        fails(Kind.HANDLE, () -> Native.close(handle));
        isClosed("data source linux.procfs", source::sensors);
        isClosed("snapshot", snapshot::prepareSnapshot);
        fails(Kind.HANDLE, () -> new Message.Request().int64(handle).send(Native.Op.SENSORS));
        Random random = new Random(4);
        for (int round = 0; round < 100_000; round++) {
            // The table's own numbers are small in both halves.
            long made = round % 2 == 0 ? random.nextLong() : (long) random.nextInt(64) << 33 | 1 << 20;
            fails(Kind.HANDLE, () -> Native.sample(made, -1));
        }
    }

    @Test
    void aHandleThatIsUsedAgainDoesNotReachTheNewObject() {
        CounterDataSource first = new CounterDataSource();
        long stale = first.object().handle();
        first.close();
        try (CounterDataSource second = new CounterDataSource()) {
            assertTrue(second.object().handle() != stale);
            fails(Kind.HANDLE, () -> new Message.Request().int64(stale).send(Native.Op.SENSORS));
            fails(Kind.HANDLE, () -> Native.close(stale));
            assertTrue(second.sensors().size() > 0);
        }
    }

    @Test
    void panicsBadRequestsAndBadArraysAreExceptions() {
        String message = fails(Kind.INTERNAL, () -> new Message.Request().send(Native.Op.PANIC)).getMessage();
        assertTrue(message.contains("a panic that was asked for"), message);
        fails(Kind.INTERNAL, () -> Native.call(-1, new byte[0]));
        fails(Kind.INTERNAL, () -> Native.call(Integer.MAX_VALUE, new byte[0]));
        fails(Kind.INTERNAL, () -> Native.call(Native.Op.OPEN.ordinal(), null));
        Random random = new Random(1);
        for (int round = 0; round < 20_000; round++) {
            byte[] request = new byte[random.nextInt(40)];
            random.nextBytes(request);
            Native.Op[] all = Native.Op.values();
            // Not those that open what the bytes may name.
            Native.Op op = all[Native.Op.STRUCTURE.ordinal()
                    + random.nextInt(all.length - Native.Op.STRUCTURE.ordinal())];
            if (op != Native.Op.CALCULATE && op != Native.Op.PANIC && op != Native.Op.EXPERIMENT) {
                assertThrows(PerfhiveException.class, () -> Native.call(op.ordinal(), request));
            }
        }
        try (CounterDataSource source = new CounterDataSource();
                DataSources sources = new DataSources().add(source);
                MeasurementContext context =
                        MeasurementContext.of(sources, Machine.own("ID Process"))) {
            long handle = ((CounterProbeContext) context.part(0)).handle();
            assertThrows(ArrayIndexOutOfBoundsException.class, () -> Native.values(handle, new long[0]));
            fails(Kind.INTERNAL, () -> Native.values(handle, null));
            assertThrows(ArrayIndexOutOfBoundsException.class, () -> Native.codes(handle, new byte[0]));
            assertThrows(ArrayIndexOutOfBoundsException.class,
                    () -> Native.rawValues(handle, new long[1], new long[0]));
            assertThrows(ArrayIndexOutOfBoundsException.class,
                    () -> Native.rawValues(handle, new long[0], new long[1]));
            fails(Kind.INTERNAL, () -> Native.rawValues(handle, new long[1], null));
            assertThrows(ArrayIndexOutOfBoundsException.class, () -> Native.facts(handle, new int[4]));
            fails(Kind.INTERNAL, () -> Native.facts(handle, null));
            fails(Kind.INTERNAL, () -> Native.value(handle, 1));
            fails(Kind.INTERNAL, () -> Native.value(handle, -1));
            long[] bits = new long[1];
            Native.values(handle, bits);
            assertArrayEquals(new long[] {Machine.PID}, bits);
            assertEquals(Machine.PID, Native.value(handle, 0));
            // The low level has states, too.
            fails(Kind.STATE, () -> Native.sample(handle, -1));
            fails(Kind.STATE, () -> Native.decode(handle));
            assertEquals(TimeSource.UNREADABLE, Native.now(99));
            assertEquals(TimeSource.UNREADABLE, Native.now(-1));
        }
    }

    @Test
    void manyValuesCrossAsTheyAreAndNotIntoAShorterArray() {
        String[] names = new String[1000];
        java.util.Arrays.fill(names, Machine.own("ID Process"));
        try (DataSources sources = DataSources.open("local:");
                MeasurementContext context = MeasurementContext.of(sources, names)) {
            Readings readings = context.cycle();
            assertEquals(1000, readings.size());
            for (int place = 0; place < 1000; place++) {
                assertEquals(Machine.PID, readings.longBits(place));
            }
            long handle = ((CounterProbeContext) context.part(0)).handle();
            long[] longer = new long[1001];
            longer[1000] = 7;
            Native.values(handle, longer);
            assertEquals(Machine.PID, longer[999]);
            assertEquals(7, longer[1000]);
            long[] shorter = new long[999];
            assertThrows(ArrayIndexOutOfBoundsException.class, () -> Native.values(handle, shorter));
            assertArrayEquals(new long[999], shorter);
            fails(Kind.INTERNAL, () -> Native.values(handle, null));
        }
    }

    @Test
    void afterCloseEveryMethodSaysSo() {
        try (DataSources sources = DataSources.open("local:")) {
            MeasurementContext context = MeasurementContext.of(sources, Machine.own("ID Process"));
            Readings readings = context.cycle();
            context.close();
            context.close();
            isClosed("measurement context", context::prepare);
            isClosed("measurement context", context::sample);
            isClosed("measurement context", context::decode);
            isClosed("measurement context", context::values);
            isClosed("measurement context", context::record);
            assertEquals(Machine.PID, readings.get(0).value().orElseThrow().longValue());
        }
        PerformanceCounter counter = new PerformanceCounter("Memory", "Available Bytes", "");
        counter.close();
        isClosed("counter Available Bytes of Memory", counter::nextValue);
        isClosed("counter Available Bytes of Memory", counter::reset);
        Category category = Category.of("Memory");
        CategoryData data = category.read();
        CategoryData other = category.read();
        category.close();
        isClosed("category Memory", category::read);
        isClosed("category Memory", category::instanceNames);
        data.close();
        isClosed("data of the category Memory", data::values);
        isClosed("data of the category Memory", () -> data.sample("", "Available Bytes"));
        isClosed("data of the category Memory", () -> other.valuesSince(data));
        other.close();
        CounterDataSource source = new CounterDataSource();
        SensorName name = SensorName.parse(Machine.own("ID Process"));
        Sensor sensor = source.find(name).sensor();
        Probe probe = source.probe(sensor);
        DataSources sources = new DataSources().add(source);
        sources.close();
        isClosed("data source linux.procfs", () -> source.find(name));
        isClosed("data source linux.procfs", () -> ((StaticSensor) sensor).instances());
        isClosed("data source linux.procfs", () -> probe.open(List.of(), java.time.Duration.ZERO));
        isClosed("data source linux.procfs", source::advance);
        isClosed("data source linux.procfs", () -> MeasurementContext.of(sources, name.toString()));
        isClosed("data source linux.procfs", () -> Category.all(source));
        isClosed("data source linux.procfs", () -> CounterNames.of(source));
        isClosed("data source linux.procfs",
                () -> new PerformanceCounter(source, "Memory", "Available Bytes", ""));
        isClosed("data source linux.procfs",
                () -> CounterSnapshot.createSnapshot(source, SnapshotType.GLOBAL));
    }

    @Test
    void closingBesideACallNamesWhatIsClosed() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            for (int round = 0; round < 100; round++) {
                Category category = Category.of("Memory");
                CategoryData data = category.read();
                Future<?> counters = pool.submit(() -> isClosed("category Memory", () -> {
                    while (true) {
                        category.hasCounter("24");
                    }
                }));
                Future<?> values = pool.submit(() -> isClosed("data of the category Memory", () -> {
                    while (true) {
                        data.values();
                    }
                }));
                Thread.sleep(1);
                category.close();
                data.close();
                counters.get();
                values.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void manyThreadsMeasureAndCloseAtTheSameTime() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        try (DataSources sources = DataSources.open("local:")) {
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                all.add(pool.submit(() -> {
                    for (int round = 0; round < 50; round++) {
                        try (MeasurementContext context = MeasurementContext.of(sources,
                                Machine.own("ID Process"),
                                Machine.sensor("Memory", "Available Bytes"))) {
                            assertEquals(Machine.PID,
                                    context.cycle().get(0).value().orElseThrow().longValue());
                        }
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void oneContextFromManyThreadsIsInOneStateAtATime() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        AtomicBoolean stop = new AtomicBoolean();
        try (DataSources sources = DataSources.open("local:");
                MeasurementContext context =
                        MeasurementContext.of(sources, Machine.own("ID Process"))) {
            CountDownLatch done = new CountDownLatch(200);
            List<Future<?>> all = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                all.add(pool.submit(() -> {
                    while (!stop.get()) {
                        try {
                            context.prepare();
                            context.sample();
                            context.decode();
                            done.countDown();
                        } catch (IllegalStateException error) {
                            assertEquals("the measurement context is closed", error.getMessage());
                            return;
                        } catch (PerfhiveException error) {
                            assertEquals(Kind.STATE, error.kind(), error.getMessage());
                        }
                    }
                }));
            }
            assertTrue(done.await(60, java.util.concurrent.TimeUnit.SECONDS));
            // Closed in the middle of it all.
            context.close();
            for (Future<?> one : all) {
                one.get(60, java.util.concurrent.TimeUnit.SECONDS);
            }
        } finally {
            stop.set(true);
            pool.shutdownNow();
        }
    }

    @Test
    void thousandsOfCyclesOfOpeningAndClosingLeaveNothingBehind() throws Exception {
        try (DataSources sources = DataSources.open("local:")) {
            long before = 0;
            int handles = 0;
            for (int round = 0; round < 3000; round++) {
                if (round == 1000) {
                    handles = Native.handles();
                    System.gc();
                    before = Machine.status("VmRSS");
                }
                try (MeasurementContext context = MeasurementContext.of(
                        sources, Machine.sensor("Memory", "Available Bytes"))) {
                    context.cycle();
                }
                if (round % 10 == 0) {
                    new CounterDataSource().close();
                    new PerformanceCounter("Memory", "Available Bytes", "").close();
                }
            }
            assertTrue(Native.handles() <= handles, Native.handles() + " of " + handles);
            System.gc();
            // 2,000 cycles. A leak of a frame in each would be some hundred megabytes.
            long grown = Machine.status("VmRSS") - before;
            assertTrue(grown < 64 << 10, grown + " KiB");
        }
    }

    @Test
    void whatIsForgottenIsClosedByTheGarbageCollector() throws Exception {
        // It stays open.
        CounterDataSource.local();
        int before = Native.handles();
        for (int round = 0; round < 50; round++) {
            new PerformanceCounter("Memory", "Available Bytes", "");
        }
        assertTrue(Native.handles() > before);
        long end = System.nanoTime() + 60_000_000_000L;
        while (Native.handles() > before && System.nanoTime() < end) {
            System.gc();
            Thread.sleep(10);
        }
        assertTrue(Native.handles() <= before + 1, Native.handles() + " of " + before);
    }
}
