package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.management.MBeanServer;
import org.junit.jupiter.api.Test;
import org.perfhive.jmx.SensorBeans;

/** No public method takes null, alone or in a list. */
class NullTest {
    private final Map<Class<?>, Object> values = new HashMap<>();
    private final List<String> wrong = new ArrayList<>();
    private int calls;

    private <T> T put(Class<T> type, T value) {
        values.put(type, value);
        return value;
    }

    private static List<Class<?>> publicClasses() throws Exception {
        Path root = Path.of(System.getProperty("perfhive.root"), "java/src/main/java");
        List<Class<?>> found = new ArrayList<>();
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.filter(file -> file.toString().endsWith(".java")).toList()) {
                String name = root.relativize(file).toString().replace(".java", "").replace('/', '.');
                if (!name.endsWith("-info")) {
                    Class<?> outer = Class.forName(name);
                    found.add(outer);
                    // With those of classes that they extend, which are not of this package.
                    found.addAll(List.of(outer.getClasses()));
                }
            }
        }
        found.removeIf(one -> !one.getName().startsWith("org.perfhive.") || !Modifier.isPublic(one.getModifiers()));
        return found;
    }

    /** The objects on which methods are called, and the other arguments of calls. */
    private void makeValues(CounterDataSource source, DataSources sources) throws Exception {
        // The title index of Memory, and the place of the last of five sensors.
        put(int.class, 4);
        put(long.class, 0L);
        put(double.class, 0.0);
        put(boolean.class, false);
        put(String.class, "Memory");
        put(Duration.class, Duration.ofSeconds(1));
        put(Optional.class, Optional.empty());
        put(OptionalLong.class, OptionalLong.empty());
        put(OptionalDouble.class, OptionalDouble.empty());
        put(List.class, List.of());
        put(Path.class, Path.of("unused"));
        put(Callable.class, () -> 0);
        put(Supplier.class, List::of);
        put(Throwable.class, new IllegalStateException());
        put(MBeanServer.class, ManagementFactory.getPlatformMBeanServer());
        put(CounterDataSource.class, source);
        put(DataSource.class, source);
        put(DataSources.class, sources);
        SensorName name = put(SensorName.class, SensorName.parse(Machine.own("ID Process")));
        Sensor sensor = put(Sensor.class, source.find(name).sensor());
        put(SelectedSensor.class, source.find(name));
        put(Sensor.Traits.class, new Sensor.Traits(SensorKind.GAUGE, ValueType.INT32, "", "", false));
        put(Probe.class, source.probe(sensor));
        MeasurementContext context =
                put(MeasurementContext.class, MeasurementContext.of(
                        sources, Collections.nCopies(5, name), MeasurementOptions.DEFAULT));
        put(ProbeContext.class, context.part(0));
        Readings readings = put(Readings.class, context.cycle());
        put(SampleRecord.class, context.record());
        put(SensorReading.class, readings.get(0));
        put(SensorSlot.class, readings.slot(0));
        ProbeReadings filled = put(ProbeReadings.class, 
                new ProbeReadings(Collections.nCopies(5, source.find(name))));
        filled.clear();
        put(PerfhiveException.class, new PerfhiveException(PerfhiveException.Kind.OTHER, "other"));
        put(NoValue.class, new NoValue("none", "none"));
        put(MeasurementOptions.class, MeasurementOptions.DEFAULT);
        put(Category.class, Category.of(source, "Memory"));
        CategoryData data = put(CategoryData.class, Category.of(source, "Memory").read());
        put(CategoryData.Values.class, data.values());
        put(PerformanceCounter.class, new PerformanceCounter(source, "Memory", "Available Bytes", ""));
        put(CounterSample.class, data.sample("", "Available Bytes").orElseThrow());
        put(CounterType.class, data.counters().get(0).type());
        CounterSnapshot snapshot = put(CounterSnapshot.class, CounterSnapshot.createSnapshot(
                source, SnapshotType.CUSTOM, new SnapshotInput(4, 24)));
        assertEquals(1, snapshot.getSnapshotPerfObjectCount());
        put(CounterNames.class, CounterNames.of(source));
        put(Experiment.Builder.class, Experiment.builder());
        ExperimentEnd end = put(Experiment.class, Experiment.builder().start()).end();
        put(ExperimentEnd.class, end);
        put(SummaryFigures.class, end.overhead());
        put(ExperimentListener.class, batch -> {});
        put(EventSource.class, new EventSource.Calls("unused"));
        put(TimeSource.class, TimeSource.Clock.WALL);
        put(SensorBeans.class, SensorBeans.register(
                ManagementFactory.getPlatformMBeanServer(), sources, List.of(name), Duration.ZERO));
        values.put(int[].class, new int[100_000]);
        values.put(char[].class, new char[1_000_000]);
        values.put(long[].class, new long[10]);
        values.put(double[].class, new double[10]);
    }

    private Object value(Class<?> type) {
        if (type.isEnum()) {
            return type.getEnumConstants()[0];
        }
        if (type.isArray() && !values.containsKey(type)) {
            return java.lang.reflect.Array.newInstance(type.getComponentType(), 0);
        }
        return values.get(type);
    }

    private static List<Object> bad(Class<?> type) {
        List<Object> bad = new ArrayList<>();
        bad.add(null);
        // Arrays of results are filled.
        if (type == List.class) {
            bad.add(Arrays.asList((Object) null));
        } else if (type.isArray() && !type.getComponentType().isPrimitive()
                && type != CalcValue[].class && type != CounterRecord[].class) {
            bad.add(java.lang.reflect.Array.newInstance(type.getComponentType(), 1));
        }
        return bad;
    }

    private void check(Executable call, Object on) throws Exception {
        Class<?>[] types = call.getParameterTypes();
        for (int place = 0; place < types.length; place++) {
            if (types[place].isPrimitive()) {
                continue;
            }
            for (Object bad : bad(types[place])) {
                Object[] arguments = Stream.of(types).map(this::value).toArray();
                arguments[place] = bad;
                calls++;
                String what = call + ", argument " + place + (bad == null ? "" : " with null in it");
                try {
                    if (call instanceof Constructor<?> constructor) {
                        constructor.newInstance(arguments);
                    } else {
                        ((Method) call).invoke(on, arguments);
                    }
                    wrong.add(what + " is taken");
                } catch (InvocationTargetException thrown) {
                    Throwable error = thrown.getCause();
                    if (!(error instanceof NullPointerException || error instanceof IllegalArgumentException)) {
                        wrong.add(what + ": " + error);
                    }
                } catch (IllegalArgumentException | NullPointerException unprepared) {
                    wrong.add(what + ": the test has no value: " + unprepared);
                }
            }
        }
    }

    @Test
    void nullIsRefusedAtOnce() throws Exception {
        // It stays open.
        CounterDataSource.local();
        try (CounterDataSource source = new CounterDataSource();
                DataSources sources = new DataSources().add(source)) {
            makeValues(source, sources);
            int before = Native.handles();
            for (Class<?> type : publicClasses()) {
                for (Constructor<?> constructor : type.getConstructors()) {
                    if (!Modifier.isAbstract(type.getModifiers())) {
                        check(constructor, null);
                    }
                }
                for (Method method : type.getDeclaredMethods()) {
                    int flags = method.getModifiers();
                    boolean isEquals = method.getName().equals("equals");
                    if (Modifier.isPublic(flags) && !Modifier.isAbstract(flags) && !method.isSynthetic() && !isEquals) {
                        check(method, Modifier.isStatic(flags) ? null : value(type));
                    }
                }
            }
            assertEquals("", String.join("\n", wrong));
            assertTrue(calls > 100, "" + calls);
            // The garbage collector may close what other tests forgot.
            assertTrue(Native.handles() <= before, Native.handles() + " of " + before);
            for (Object value : values.values()) {
                if (value instanceof AutoCloseable open && value != source && value != sources) {
                    open.close();
                }
            }
        }
    }
}
