package org.perfhive;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * Measures sensors of several data sources together, in three stages, so that the moment of the
 * sample disturbs the program as little as possible: {@link #prepare} makes everything ready,
 * {@link #sample} only takes the data and makes no Java objects, {@link #decode} makes values of it.
 *
 * <p>Making a context takes a first sample, the baseline, so that the first cycle has rates; if a data
 * source fails then, no context is made. If a data source fails later, only its own sensors have no
 * values in that cycle; if all data sources fail in {@code prepare} or {@code sample}, that operation fails.
 *
 * <table>
 * <caption>States</caption>
 * <tr><th>in</th><th>may be done</th><th>leads to</th><th>or, where it fails, to</th></tr>
 * <tr><td>INITIALIZED</td><td>prepare; values are readable</td><td>PREPARED</td><td>INITIALIZED</td></tr>
 * <tr><td>PREPARED</td><td>prepare</td><td>PREPARED</td><td>INITIALIZED</td></tr>
 * <tr><td>PREPARED</td><td>sample</td><td>SAMPLED</td><td>INITIALIZED</td></tr>
 * <tr><td>SAMPLED</td><td>prepare</td><td>PREPARED</td><td>INITIALIZED</td></tr>
 * <tr><td>SAMPLED</td><td>decode</td><td>INITIALIZED</td><td>INITIALIZED</td></tr>
 * </table>
 *
 * <p>Any other operation throws a {@link PerfhiveException} of the kind {@code STATE} and changes
 * nothing; so does an operation while another thread is at work. After {@code close}, every operation
 * throws an {@link IllegalStateException}. An operation that is at work during {@code close} goes on to
 * its end, then closes the probe contexts and throws that exception.
 */
public final class MeasurementContext implements AutoCloseable {
    private final AtomicReference<State> state = new AtomicReference<>(State.INITIALIZING);
    private final Part[] parts;
    private final TimeSource[] times;
    private final long[] before;
    private final long[] after;
    private final long patience;
    private final AllReadings all;
    private volatile Readings readings;
    private long duration;
    private volatile boolean closed;
    private final AtomicBoolean areClosed = new AtomicBoolean();

    /** One probe of the context. */
    private static final class Part {
        final String source;
        final ProbeContext context;
        final ProbeReadings readings;
        PerfhiveException failed;
        int anomalies;

        Part(String source, ProbeContext context, List<SelectedSensor> selection) {
            this.source = source;
            this.context = Objects.requireNonNull(context, "a probe of " + source + " opened nothing");
            this.readings = new ProbeReadings(selection);
        }
    }

    private MeasurementContext(Part[] parts, int[][] asked, MeasurementOptions options) {
        this.parts = parts;
        this.times = options.times().toArray(new TimeSource[0]);
        this.before = new long[times.length];
        this.after = new long[times.length];
        Arrays.fill(before, TimeSource.UNREADABLE);
        Arrays.fill(after, TimeSource.UNREADABLE);
        this.patience = options.patience().map(CounterDataSource::nanos).orElse(-1L);
        ProbeReadings[] each =
                Arrays.stream(parts).map(part -> part.readings).toArray(ProbeReadings[]::new);
        this.all = new AllReadings(each, asked);
        all.begin();
        for (Part part : parts) {
            fill(part, part.context::baseline, ProbeReadings::endBaseline);
        }
        this.readings = all.end();
        state.set(State.INITIALIZED);
    }

    /**
     * A context for sensors by name, with the default options.
     *
     * @param sources the data sources
     * @param names names such as {@code linux.procfs/Process/%25 Processor Time#4711}
     * @return the context
     * @throws PerfhiveException if a name means no sensor, or a source fails
     */
    public static MeasurementContext of(DataSources sources, String... names) {
        List<SensorName> parsed = Arrays.stream(names).map(SensorName::parse).toList();
        return of(sources, parsed, MeasurementOptions.DEFAULT);
    }

    /**
     * A context for sensors by name.
     *
     * @param sources the data sources
     * @param names the names
     * @param options the clocks, timeout and greatest age of data
     * @return the context
     * @throws PerfhiveException if a name means no sensor, or a source fails. Other exceptions of a source
     *     written in Java are passed on
     */
    public static MeasurementContext of(
            DataSources sources, List<SensorName> names, MeasurementOptions options) {
        Objects.requireNonNull(sources);
        Objects.requireNonNull(options);
        record Key(DataSource source, Probe probe) {}
        record Group(List<SelectedSensor> sensors, List<Integer> asked) {}
        Map<Key, Group> groups = new LinkedHashMap<>();
        for (int place = 0; place < names.size(); place++) {
            DataSource source = sources.get(names.get(place).source());
            SelectedSensor selected = source.find(names.get(place));
            checkOwn(selected.sensor(), source.name());
            Key key = new Key(source, source.probe(selected.sensor()));
            Group group =
                    groups.computeIfAbsent(key, k -> new Group(new ArrayList<>(), new ArrayList<>()));
            group.sensors.add(selected);
            group.asked.add(place);
        }
        List<Part> parts = new ArrayList<>();
        try {
            groups.forEach((key, group) -> {
                ProbeContext context = key.probe.open(group.sensors, options.maxAge());
                parts.add(new Part(key.source.name(), context, group.sensors));
            });
            int[][] asked = groups.values().stream()
                    .map(group -> group.asked.stream().mapToInt(Integer::intValue).toArray())
                    .toArray(int[][]::new);
            return new MeasurementContext(parts.toArray(Part[]::new), asked, options);
        } catch (RuntimeException | Error error) {
            try {
                DataSources.closeAll(parts, part -> part.context.close());
            } catch (RuntimeException also) {
                error.addSuppressed(also);
            }
            throw error;
        }
    }

    /**
     * Throws if a sensor is not of the data source {@code source}. Otherwise the sensor of {@code source} with
     * the same number would be measured.
     */
    static void checkOwn(Sensor sensor, String source) {
        if (!sensor.name().source().equals(source)) {
            throw new PerfhiveException(
                    PerfhiveException.Kind.UNKNOWN_SENSOR,
                    sensor + " is not a sensor of the data source \"" + source + "\"");
        }
    }

    /**
     * The state of the context at this moment.
     *
     * @return the state
     */
    public State state() {
        return state.get();
    }

    /** Checks that an operation is possible, and enters its state. */
    private void enter(String operation, Set<State> possible, State working) {
        checkOpen();
        State now = state.get();
        if (!possible.contains(now) || !state.compareAndSet(now, working)) {
            throw notPossible(operation);
        }
        if (closed) {
            leave(now);
        }
    }

    /** Ends an operation and enters the state {@code next}. If the context was closed meanwhile, closes its parts. */
    private void leave(State next) {
        state.set(next);
        if (closed) {
            closeParts();
            checkOpen();
        }
    }

    private void checkOpen() {
        if (closed) {
            throw NativeObject.closed("measurement context");
        }
    }

    private PerfhiveException notPossible(String operation) {
        return new PerfhiveException(
                PerfhiveException.Kind.STATE,
                operation + " is not possible in state " + state.get());
    }

    private static final Set<State> CAN_PREPARE =
            EnumSet.of(State.INITIALIZED, State.PREPARED, State.SAMPLED);
    private static final Set<State> CAN_SAMPLE = EnumSet.of(State.PREPARED);
    private static final Set<State> CAN_DECODE = EnumSet.of(State.SAMPLED);

    /**
     * Makes everything ready for a sample.
     *
     * @throws PerfhiveException in a state in which it is not possible, or if every data source fails
     */
    public void prepare() {
        enter("prepare", CAN_PREPARE, State.PREPARING);
        State next = State.INITIALIZED;
        try {
            boolean good = parts.length == 0;
            for (Part part : parts) {
                part.anomalies = 0;
                part.failed = null;
                try {
                    part.context.prepare();
                    good = true;
                } catch (RuntimeException error) {
                    part.failed = asFailure(error);
                }
            }
            if (!good) {
                throw firstFailure();
            }
            next = State.PREPARED;
        } finally {
            leave(next);
        }
    }

    /**
     * Takes the data of all sensors. If a data source is late or fails, only its own sensors have no
     * values. A sample without a failure makes no Java objects.
     *
     * @return the number of anomalies, which {@link #record()} lists
     * @throws PerfhiveException in a state in which it is not possible, or if every data source fails
     */
    public int sample() {
        enter("sample", CAN_SAMPLE, State.SAMPLING);
        State next = State.INITIALIZED;
        try {
            boolean good = parts.length == 0;
            int anomalies = 0;
            for (int clock = 0; clock < times.length; clock++) {
                after[clock] = TimeSource.UNREADABLE;
                before[clock] = times[clock].now();
            }
            long begun = System.nanoTime();
            for (Part part : parts) {
                if (part.failed == null) {
                    try {
                        part.anomalies = part.context.sample(patience);
                        anomalies += part.anomalies;
                        good = true;
                        continue;
                    } catch (RuntimeException error) {
                        part.failed = asFailure(error);
                    }
                }
                anomalies++;
            }
            duration = System.nanoTime() - begun;
            // In the opposite order, so that the first clock encloses the others.
            for (int clock = times.length - 1; clock >= 0; clock--) {
                after[clock] = times[clock].now();
            }
            if (!good) {
                throw firstFailure();
            }
            next = State.SAMPLED;
            return anomalies;
        } finally {
            leave(next);
        }
    }

    /**
     * Makes values of the sample.
     *
     * @return the readings, of use until the next {@code decode}
     * @throws PerfhiveException in a state in which it is not possible
     */
    public Readings decode() {
        enter("decode", CAN_DECODE, State.DECODING);
        try {
            all.begin();
            for (Part part : parts) {
                if (part.failed == null) {
                    try {
                        fill(part, part.context::decode, ProbeReadings::end);
                        continue;
                    } catch (RuntimeException error) {
                        part.failed = asFailure(error);
                    }
                }
                part.context.fail(part.failed, part.readings);
            }
            readings = all.end();
            return readings;
        } finally {
            leave(State.INITIALIZED);
        }
    }

    private static void fill(
            Part part, Consumer<ProbeReadings> read, Consumer<ProbeReadings> end) {
        if (part.context instanceof CounterProbeContext) {
            read.accept(part.readings);
            return;
        }
        int whole = part.readings.count;
        part.readings.clear();
        try {
            read.accept(part.readings);
        } catch (RuntimeException error) {
            part.readings.takeBack(whole);
            throw error;
        } finally {
            end.accept(part.readings);
        }
    }

    /**
     * One cycle: prepare, sample and decode.
     *
     * @return the readings, of use until the next {@code decode}
     * @throws PerfhiveException while another thread is at work, or if all data sources fail
     */
    public Readings cycle() {
        prepare();
        sample();
        return decode();
    }

    /**
     * Measures a section of code: takes a sample, runs the section, and takes another sample. Afterwards
     * {@link #values()} has the readings of the section; {@link SensorReading#difference()} is how much was
     * counted in it.
     *
     * @param <T> the type of the section's result
     * @param work the section
     * @return the section's result
     * @throws Exception what the section throws; or a {@link PerfhiveException} if a data source fails in the
     *     sample before the section, or all fail in the sample after it
     */
    public <T> T section(Callable<T> work) throws Exception {
        cycle();
        for (Part part : parts) {
            // Without a first sample, the one before that would be taken for the beginning.
            if (part.failed != null) {
                throw part.failed;
            }
        }
        prepare();
        T result = work.call();
        sample();
        decode();
        return result;
    }

    /**
     * The readings of the newest cycle, or of the baseline before the first one. Their slots are
     * the structure.
     *
     * @return the readings, of use until the next {@code decode}
     * @throws PerfhiveException in any state but INITIALIZED
     * @throws IllegalStateException after closing
     */
    public Readings values() {
        checkOpen();
        if (state.get() != State.INITIALIZED) {
            throw notPossible("reading values");
        }
        return readings;
    }

    /**
     * The record of the newest sample.
     *
     * @return the record
     * @throws PerfhiveException in any state but SAMPLED and INITIALIZED
     * @throws IllegalStateException after closing
     */
    public SampleRecord record() {
        checkOpen();
        State now = state.get();
        if (now != State.INITIALIZED && now != State.SAMPLED) {
            throw notPossible("reading the record");
        }
        List<SampleRecord.TimeReading> clocks = new ArrayList<>();
        for (int clock = 0; clock < times.length; clock++) {
            String label = times[clock].label();
            clocks.add(new SampleRecord.TimeReading(
                    label, optional(before[clock]), optional(after[clock])));
        }
        List<Anomaly> anomalies = new ArrayList<>();
        for (Part part : parts) {
            if (part.failed != null) {
                anomalies.add(Anomaly.failed(part.source, part.failed));
            }
            anomalies.addAll(part.context.anomalies());
        }
        Duration age =
                anomalies.stream().map(Anomaly::age).max(Comparator.naturalOrder()).orElse(Duration.ZERO);
        return new SampleRecord(clocks, Duration.ofNanos(duration), age, anomalies);
    }

    private static OptionalLong optional(long time) {
        return time == TimeSource.UNREADABLE ? OptionalLong.empty() : OptionalLong.of(time);
    }

    private static PerfhiveException asFailure(RuntimeException error) {
        if (error instanceof PerfhiveException failure) {
            return failure;
        }
        PerfhiveException failure =
                new PerfhiveException(PerfhiveException.Kind.OTHER, String.valueOf(error));
        failure.initCause(error);
        return failure;
    }

    /** The failure of the first part that failed, to be thrown if all data sources fail. */
    private PerfhiveException firstFailure() {
        for (Part part : parts) {
            if (part.failed != null) {
                return part.failed;
            }
        }
        return new PerfhiveException(PerfhiveException.Kind.OTHER, "no data source");
    }

    /** The probe context at a place; for the benchmark. */
    ProbeContext part(int place) {
        return parts[place].context;
    }

    /** The arrays with the readings of the probe context at a place; for the benchmark. */
    ProbeReadings arrays(int place) {
        return parts[place].readings;
    }

    /**
     * Closes the context without waiting. If another thread is at work with it, that thread closes the probe
     * contexts at the end of its operation.
     */
    @Override
    public void close() {
        closed = true;
        State now = state.get();
        if (CAN_PREPARE.contains(now)) {
            closeParts();
        }
    }

    private void closeParts() {
        if (!areClosed.getAndSet(true)) {
            DataSources.closeAll(Arrays.asList(parts), part -> part.context.close());
        }
    }
}
