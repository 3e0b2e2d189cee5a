package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.fails;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;

/** A data source written in Java, beside the native one. */
class JavaSourceTest {
    static final String NAME = "test.shop";

    /** Orders of a shop, found by the service loader. */
    public static class Shop implements DataSource {
        static boolean broken;
        /** The place of the sensor at which decoding fails; negative for none. */
        static int failing = -1;
        static final List<String> DESKS = Collections.synchronizedList(new ArrayList<>());
        static long orders;

        private final List<Sensor> sensors = List.of(
                new SingleSensor(1, SensorName.of(NAME, "Orders", "Count"),
                        new Sensor.Traits(SensorKind.GAUGE, ValueType.INT32, "", "all", false)),
                new StaticSensor(2, SensorName.of(NAME, "Desk", "Length"),
                        new Sensor.Traits(SensorKind.GAUGE, ValueType.DOUBLE, "m", "", false),
                        () -> List.copyOf(DESKS)));
        private final Probe probe = Context::new;

        /** For the service loader. */
        public Shop() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public List<Sensor> sensors() {
            return sensors;
        }

        @Override
        public Probe probe(Sensor sensor) {
            return probe;
        }

        private static final class Context implements ProbeContext {
            private final List<SelectedSensor> selection;
            private long taken;
            private List<String> desks = List.of();
            private long before;

            Context(List<SelectedSensor> selection, Duration maxAge) {
                this.selection = selection;
                sample(-1);
            }

            @Override
            public void baseline(ProbeReadings out) {
                decode(out);
            }

            @Override
            public void prepare() {}

            @Override
            public int sample(long patienceNanos) {
                if (broken) {
                    throw new IllegalStateException("the shop is closed");
                }
                before = taken;
                taken = orders;
                desks = List.copyOf(DESKS);
                return 0;
            }

            @Override
            public void decode(ProbeReadings out) {
                for (int asked = 0; asked < selection.size(); asked++) {
                    if (asked == failing) {
                        throw new IllegalStateException("the book is lost");
                    }
                    if (!selection.get(asked).sensor().hasInstances()) {
                        out.addLong(asked, Optional.empty(), taken);
                        out.raw(taken);
                        out.before(before);
                        continue;
                    }
                    for (String desk : desks) {
                        if (desk.isEmpty()) {
                            out.addNone(asked, Optional.of(desk), new NoValue("no-data", "no name"));
                        } else {
                            out.addDouble(asked, Optional.of(desk), desk.length() + 0.5);
                        }
                    }
                }
            }
        }
    }

    private static DataSources both() {
        Shop.broken = false;
        Shop.failing = -1;
        Shop.DESKS.clear();
        Shop.DESKS.addAll(List.of("a", "bcd"));
        Shop.orders = 7;
        return DataSources.open("local:").add(new Shop());
    }

    private static final String[] NAMES = {
        NAME + "/Orders/Count",
        Machine.sensor("Process", "ID Process") + "#" + Machine.PID,
        NAME + "/Desk/Length#*",
        Machine.sensor("Memory", "Available Bytes"),
    };

    @Test
    void readingsOfBothAreInTheOrderOfTheSensorsAskedFor() {
        try (DataSources sources = both();
                MeasurementContext context = MeasurementContext.of(sources, NAMES)) {
            Shop.orders = 12;
            Readings readings = context.cycle();
            assertEquals(List.of(0, 1, 2, 2, 3),
                    readings.stream().map(SensorReading::asked).toList());
            assertEquals(12, readings.get(0).value().orElseThrow().intValue());
            assertEquals(5, readings.get(0).difference().orElseThrow());
            assertEquals(Machine.PID, readings.get(1).value().orElseThrow().longValue());
            assertEquals(3.5, readings.get(3).value().orElseThrow().doubleValue());
            assertEquals("test.shop/Desk/Length#bcd", readings.get(3).name().toString());
            SensorSlot kept = readings.slot(3);
            Shop.DESKS.add(0, "");
            readings = context.cycle();
            assertEquals(6, readings.size());
            assertEquals("no-data", readings.get(2).noValue().orElseThrow().code());
            Shop.DESKS.remove(0);
            Shop.DESKS.remove(0);
            readings = context.cycle();
            assertEquals(List.of(0, 1, 2, 3),
                    readings.stream().map(SensorReading::asked).toList());
            assertEquals(kept.name(), readings.slot(2).name());
            assertTrue(readings.approximately(3) > 0);
        }
    }

    @Test
    void aSourceThatFailsLosesItsOwnSensorsOnly() {
        try (DataSources sources = both();
                MeasurementContext context = MeasurementContext.of(sources, NAMES)) {
            context.cycle();
            Shop.broken = true;
            Readings readings = context.cycle();
            assertEquals(5, readings.size());
            assertFalse(readings.hasValue(0));
            NoValue why = readings.get(0).noValue().orElseThrow();
            assertEquals("source-failed", why.code());
            assertTrue(why.message().contains("the shop is closed"), why.message());
            assertTrue(readings.hasValue(1) && readings.hasValue(4));
            Anomaly failed = context.record().anomalies().get(0);
            assertEquals(Anomaly.Code.FAILED, failed.code());
            assertEquals(NAME, failed.subject());
            Shop.broken = false;
            assertTrue(context.cycle().hasValue(0));
        }
    }

    @Test
    void aSourceThatFailsWhileItDecodesHasNoOldValues() {
        for (int failing = 0; failing < 2; failing++) {
            try (DataSources sources = both();
                    MeasurementContext context = MeasurementContext.of(sources, NAMES)) {
                context.cycle();
                Shop.failing = failing;
                Readings readings = context.cycle();
                assertEquals(List.of(0, 1, 2, 2, 3),
                        readings.stream().map(SensorReading::asked).toList());
                for (int place : new int[] {0, 2, 3}) {
                    assertFalse(readings.hasValue(place));
                    NoValue why = readings.get(place).noValue().orElseThrow();
                    assertTrue(why.message().contains("the book is lost"), why.message());
                }
                assertTrue(readings.hasValue(1) && readings.hasValue(4));
                Shop.failing = -1;
                assertTrue(context.cycle().hasValue(0));
            }
        }
    }

    @Test
    void sensorsHaveTheirPlacesBeforeTheirSourceHasValues() {
        Sensor sensor = new SingleSensor(1, SensorName.of("late", "Orders", "Count"),
                new Sensor.Traits(SensorKind.GAUGE, ValueType.INT64, "", "", false));
        AtomicBoolean fails = new AtomicBoolean(true);
        // It has no baseline, and its second sensor never has a value.
        Probe probe = (selection, maxAge) -> new ProbeContext() {
            @Override
            public void prepare() {}

            @Override
            public int sample(long patienceNanos) {
                if (fails.get()) {
                    throw new IllegalStateException("not yet");
                }
                return 0;
            }

            @Override
            public void decode(ProbeReadings out) {
                out.addLong(0, Optional.empty(), 5);
            }
        };
        DataSource late = new TestSource("late", List.of(sensor), probe);
        try (DataSources sources = DataSources.open("local:").add(late);
                MeasurementContext context = MeasurementContext.of(sources,
                        "late/Orders/Count", "late/Orders/Count", Machine.own("ID Process"))) {
            assertEquals(List.of("no-data", "no-data", ""), codes(context.values()));
            assertEquals(List.of("source-failed", "source-failed", ""), codes(context.cycle()));
            fails.set(false);
            Readings readings = context.cycle();
            assertEquals(List.of("", "no-data", ""), codes(readings));
            assertEquals(Machine.PID, readings.approximately(2));
            assertEquals(List.of(0, 1, 2), List.of(readings.first(0), readings.first(1), readings.first(2)));
        }
    }

    @Test
    void aSourceThatThrowsInCloseKeepsNoOtherOpen() {
        DataSource bad = new Shop() {
            @Override
            public void close() {
                throw new IllegalStateException("cannot close");
            }
        };
        CounterDataSource local = CounterDataSource.open("local:");
        DataSources sources = new DataSources().add(bad).add(local);
        assertEquals("cannot close", assertThrows(IllegalStateException.class, sources::close).getMessage());
        assertThrows(IllegalStateException.class, local::sensors);
    }

    private static List<String> codes(Readings readings) {
        return readings.stream().map(one -> one.noValue().map(NoValue::code).orElse("")).toList();
    }

    @Test
    void readingsAreAddedInOrderAndTakenBackAsAWhole() {
        List<Sensor> sensors = new Shop().sensors();
        ProbeReadings out = new ProbeReadings(List.of(
                new SelectedSensor(sensors.get(1), Optional.empty()),
                new SelectedSensor(sensors.get(0), Optional.empty())));
        out.clear();
        out.addDouble(0, Optional.of("a"), 1);
        out.addDouble(0, Optional.of("b"), 2);
        out.addLong(1, Optional.empty(), 3);
        assertThrows(IllegalArgumentException.class, () -> out.addDouble(0, Optional.of("c"), 4));
        assertThrows(IllegalArgumentException.class, () -> out.addLong(0, Optional.of("c"), 4));
        assertThrows(IllegalArgumentException.class, () -> out.addDouble(1, Optional.empty(), 4));
        // A second reading of a sensor that has one, and instances where there are none.
        assertThrows(IllegalArgumentException.class, () -> out.addLong(1, Optional.empty(), 4));
        assertThrows(IllegalArgumentException.class, () -> out.addLong(1, Optional.of("a"), 4));
        assertThrows(ArithmeticException.class, () -> out.addLong(1, Optional.empty(), 1L << 32));
        out.end();
        List<SensorSlot> slots = List.of(out.slots);
        out.clear();
        assertThrows(IllegalStateException.class, () -> out.raw(1));
        assertThrows(IllegalArgumentException.class, () -> out.addDouble(0, Optional.empty(), 1));
        out.addDouble(0, Optional.of("new"), 1);
        out.addLong(1, Optional.empty(), 3);
        out.takeBack(3);
        out.end();
        assertEquals(slots, List.of(out.slots));
    }

    @Test
    void whereAllSourcesFailTheOperationDoes() {
        try (DataSources sources = both();
                MeasurementContext context = MeasurementContext.of(sources, NAMES[0])) {
            Shop.broken = true;
            context.prepare();
            fails(Kind.OTHER, context::sample);
            assertEquals(State.INITIALIZED, context.state());
            Shop.broken = false;
            assertTrue(context.cycle().hasValue(0));
        }
    }

    @Test
    void sensorsOfAnotherSourceAreRefused() {
        try (DataSources sources = both()) {
            SensorName name = SensorName.parse(NAMES[3]);
            SelectedSensor foreign = sources.find(name);
            DataSource confused = new Shop() {
                @Override
                public String name() {
                    return "confused";
                }

                @Override
                public SelectedSensor find(SensorName wanted) {
                    return foreign;
                }
            };
            sources.add(confused);
            fails(Kind.UNKNOWN_SENSOR, () -> MeasurementContext.of(sources, "confused/Orders/Count"));
            Probe probe = sources.get(Machine.SOURCE).probe(foreign.sensor());
            SelectedSensor own = sources.find(SensorName.parse(NAMES[0]));
            fails(Kind.UNKNOWN_SENSOR, () -> probe.open(List.of(own), Duration.ZERO));
        }
    }

    @Test
    void namesOfJavaSourcesAreChecked() {
        try (DataSources sources = both()) {
            fails(Kind.UNKNOWN_SENSOR, () -> MeasurementContext.of(sources, NAME + "/Orders/None"));
            fails(Kind.INSTANCES, () -> MeasurementContext.of(sources, NAME + "/Orders/Count#1"));
            fails(Kind.INSTANCES, () -> MeasurementContext.of(sources, NAME + "/Desk/Length"));
            fails(Kind.SAME_NAME, () -> sources.add(new Shop()));
        }
    }
}
