package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.isClosed;

import java.time.Duration;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Readings in bulk, from several threads, and beside {@code close}. */
class ReadingsTest {
    /** A source of one sensor with as many instances as it is told. */
    private static final class Numbers {
        final AtomicInteger instances = new AtomicInteger(20);
        volatile Optional<NoValue> none = Optional.empty();
        long sample;
        private final Sensor sensor;
        private final Probe probe = (selection, maxAge) -> new ProbeContext() {
            @Override
            public void prepare() {}

            @Override
            public int sample(long patienceNanos) {
                sample++;
                return 0;
            }

            @Override
            public void decode(ProbeReadings out) {
                for (int asked = 0; asked < selection.size(); asked++) {
                    for (int one = 0; one < instances.get(); one++) {
                        Optional<String> instance = Optional.of("" + one);
                        if (one == 13 && none.isPresent()) {
                            out.addNone(asked, instance, none.get());
                        } else if (sensor.valueType() == ValueType.DOUBLE) {
                            out.addDouble(asked, instance, sample + one / 1000.0);
                        } else {
                            out.addLong(asked, instance, sample * 1000 + one);
                        }
                    }
                }
            }
        };

        Numbers(ValueType type) {
            sensor = new StaticSensor(1, SensorName.of("numbers", "Group", "Number"),
                    new Sensor.Traits(SensorKind.GAUGE, type, "", "", false),
                    () -> IntStream.range(0, instances.get()).mapToObj(Integer::toString).toList());
        }

        MeasurementContext measured() {
            DataSource source = new TestSource("numbers", List.of(sensor), probe);
            return MeasurementContext.of(new DataSources().add(source), "numbers/Group/Number#*");
        }
    }

    /** While a data source adds the next sample, the readings before are of no use, those of the baseline too. */
    @Test
    void readingsAreOfNoUseWhileTheNextSampleIsDecoded() {
        Sensor sensor = new SingleSensor(1, SensorName.of("test", "Orders", "Count"),
                new Sensor.Traits(SensorKind.GAUGE, ValueType.INT64, "", "", false));
        Readings[] before = new Readings[1];
        Probe probe = (selection, maxAge) -> new ProbeContext() {
            @Override
            public void prepare() {}

            @Override
            public int sample(long patienceNanos) {
                return 0;
            }

            @Override
            public void decode(ProbeReadings out) {
                out.addLong(0, Optional.empty(), 1);
                assertThrows(ConcurrentModificationException.class, () -> before[0].hasValue(0));
            }
        };
        DataSources sources = new DataSources().add(new TestSource("test", List.of(sensor), probe));
        MeasurementContext context = MeasurementContext.of(sources, "test/Orders/Count");
        for (int cycle = 0; cycle < 3; cycle++) {
            before[0] = context.values();
            assertTrue(context.cycle().hasValue(0));
        }
    }

    @Test
    void valuesOfASensorAreCopiedAtOnce() {
        try (DataSources sources = DataSources.open("local:");
                MeasurementContext context = MeasurementContext.of(sources,
                        Machine.own("ID Process"),
                        Machine.sensor("Process", "ID Process") + "#*",
                        Machine.sensor("Process", "% Processor Time") + "#*")) {
            Readings readings = context.cycle();
            long[] longs = new long[readings.size()];
            double[] doubles = new double[readings.size()];
            assertEquals(1, readings.copyValues(0, longs, 0));
            assertEquals(Machine.PID, longs[0]);
            for (int asked = 0; asked < 3; asked++) {
                int count = readings.copyValues(asked, doubles);
                assertEquals(readings.count(asked), count);
                for (int one = 0; one < count; one++) {
                    int place = readings.first(asked) + one;
                    assertEquals(asked, readings.get(place).asked());
                    assertEquals(readings.approximately(place), doubles[one]);
                }
            }
            assertEquals(readings.size(), readings.first(2) + readings.count(2));
            assertThrows(ArithmeticException.class, () -> readings.copyValues(2, longs, 0));
            assertThrows(IllegalArgumentException.class, () -> readings.copyValues(1, new long[1], 0));
            assertThrows(IndexOutOfBoundsException.class, () -> readings.copyValues(3, longs, 0));
            assertThrows(IndexOutOfBoundsException.class, () -> readings.count(-1));
        }
    }

    @Test
    void whatHasNoValueIsMarkedAndLargeNumbersAreUnsigned() {
        Numbers numbers = new Numbers(ValueType.INT64);
        numbers.none = Optional.of(new NoValue("no-data", "not now"));
        numbers.sample = Long.MIN_VALUE / 1000;
        try (MeasurementContext context = numbers.measured()) {
            Readings readings = context.cycle();
            long[] longs = new long[20];
            double[] doubles = new double[20];
            readings.copyValues(0, longs, -1);
            readings.copyValues(0, doubles);
            for (int place = 0; place < 20; place++) {
                assertEquals(place == 13 ? -1 : readings.longBits(place), longs[place]);
                assertEquals(readings.approximately(place), doubles[place]);
                assertTrue(place == 13 || doubles[place] > Long.MAX_VALUE);
            }
            assertTrue(Double.isNaN(doubles[13]));
            numbers.none = Optional.empty();
            Readings whole = context.cycle();
            whole.copyValues(0, doubles);
            assertArrayEquals(whole.stream().mapToDouble(one -> one.value().orElseThrow().approximately()).toArray(),
                    doubles);
        }
        Numbers halves = new Numbers(ValueType.DOUBLE);
        try (MeasurementContext context = halves.measured()) {
            double[] doubles = new double[20];
            context.cycle().copyValues(0, doubles);
            assertEquals(1.019, doubles[19]);
        }
    }

    @Test
    void readingsOfAnEarlierSampleAreRefusedAndWhatWasTakenOutStays() {
        Numbers numbers = new Numbers(ValueType.INT64);
        try (MeasurementContext context = numbers.measured()) {
            // Nothing was measured, and the instances are known.
            assertEquals("numbers/Group/Number#19 = its data source has no baseline of it",
                    context.values().get(19).toString());
            Readings first = context.cycle();
            SensorReading taken = first.get(3);
            context.prepare();
            context.sample();
            // Until the next decode they are those of the sample before.
            assertEquals(1003, first.longBits(3));
            Readings second = context.decode();
            assertEquals(2003, second.longBits(3));
            assertEquals("numbers/Group/Number#3 = 1003", taken.toString());
            assertThrows(ConcurrentModificationException.class, () -> first.get(3));
            assertThrows(ConcurrentModificationException.class, () -> first.hasValue(3));
            assertThrows(ConcurrentModificationException.class, () -> first.longBits(3));
            assertThrows(ConcurrentModificationException.class, () -> first.slot(3));
            assertThrows(ConcurrentModificationException.class, () -> first.copyValues(0, new double[20]));
            assertThrows(ConcurrentModificationException.class, () -> first.forEach(one -> {}));
            assertThrows(ConcurrentModificationException.class, () -> first.valueOf(taken.name()));
        }
    }

    @Test
    void anotherThreadReadsValuesOfOneSampleOrAnException() throws Exception {
        Numbers numbers = new Numbers(ValueType.INT64);
        try (MeasurementContext context = numbers.measured()) {
            AtomicReference<Readings> newest = new AtomicReference<>(context.cycle());
            AtomicReference<Throwable> failure = new AtomicReference<>();
            AtomicInteger whole = new AtomicInteger();
            AtomicInteger refused = new AtomicInteger();
            Thread reader = new Thread(() -> {
                long[] copied = new long[400];
                while (whole.get() < 2000 || refused.get() < 200) {
                    Readings readings = newest.get();
                    try {
                        int count = readings.copyValues(0, copied, -1);
                        assertEquals(readings.size(), count);
                        long sample = copied[0] / 1000;
                        for (int place = 0; place < count; place++) {
                            assertEquals(sample * 1000 + place, copied[place]);
                            assertEquals(sample * 1000 + place, readings.longBits(place));
                            assertEquals(sample * 1000 + place, readings.approximately(place));
                            assertEquals(Optional.of("" + place), readings.slot(place).instance());
                            assertEquals(sample * 1000 + place,
                                    readings.get(place).value().orElseThrow().longValue());
                        }
                        whole.incrementAndGet();
                    } catch (ConcurrentModificationException decoded) {
                        refused.incrementAndGet();
                    }
                }
            });
            reader.setUncaughtExceptionHandler((thread, error) -> failure.set(error));
            reader.start();
            for (int round = 0; reader.isAlive(); round++) {
                numbers.instances.set(1 + round % 7 * 57);
                newest.set(context.cycle());
                // At times the reader is left alone.
                if (round % 8 == 0) {
                    Thread.sleep(1);
                }
            }
            reader.join();
            assertEquals(null, failure.get());
        }
    }

    @Test
    void decodeBesideCloseHasValuesOrSaysThatTheContextIsClosed() throws Exception {
        String[] names = new String[50];
        java.util.Arrays.fill(names, Machine.own("ID Process"));
        try (DataSources sources = DataSources.open("local:")) {
            List<Throwable> wrong = new ArrayList<>();
            for (int round = 0; round < 100; round++) {
                MeasurementContext context = MeasurementContext.of(sources, names);
                Thread measuring = new Thread(() -> isClosed("measurement context", () -> {
                    while (true) {
                        for (SensorReading reading : context.cycle()) {
                            assertEquals(Machine.PID, reading.value().orElseThrow().longValue());
                        }
                    }
                }));
                measuring.setUncaughtExceptionHandler((thread, error) -> wrong.add(error));
                measuring.start();
                Thread.sleep(Duration.ofNanos(round * 30_000L).toMillis());
                context.close();
                measuring.join();
                assertEquals(List.of(), wrong);
            }
        }
    }
}
