package org.perfhive;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/**
 * A running experiment: the program is measured at its own events.
 *
 * <p>{@link #bind} connects an {@link EventSource} with sensors: at each event the sensors are read, on a
 * native thread of the binding. {@link #call}, {@link #startSection}, {@link #endSection} and
 * {@link #section} report events of the program itself. The records go to listeners, and
 * {@link #end()} returns the figures.
 *
 * <p>Every method may be called from any thread, also from a listener's. After {@code end} and
 * {@code close}, calls have no effect, and {@code bind} and {@code listen} throw an exception.
 *
 * <p>An experiment with an interval or a threshold, and with a listener or a file, goes on until
 * {@code end} or {@code close}, even if the program keeps no reference to it. Any other experiment that
 * becomes garbage ends. If the JVM ends before the experiment, the records of about the last second are lost.
 */
public final class Experiment implements AutoCloseable {
    /**
     * Running experiments that have events without the program's doing, and pass them on. As garbage they
     * would end at a moment that depends on the garbage collector.
     */
    private static final Set<Experiment> GOING_ON = ConcurrentHashMap.newKeySet();

    private final NativeObject object;
    private final Duration listenerTimeout;
    private final List<Listening> listeners = new CopyOnWriteArrayList<>();
    private final Object ending = new Object();
    /** The names of calls and their queue; empty until {@link EventSource.Calls} are bound. */
    private volatile Optional<Points> points = Optional.empty();
    private Optional<ExperimentEnd> ended = Optional.empty();
    /** Whether an event source is bound that needs no call of the program. */
    private boolean hasOwnEvents;
    private final boolean hasFile;
    /** The deadline for listeners at the end, on the clock of {@link System#nanoTime}; set when the experiment ends. */
    private long until;

    /** The settings of an experiment, which {@link #start} starts. */
    public static final class Builder {
        private int capacity = 16_384;
        private Optional<Path> file = Optional.empty();
        private Duration listenerTimeout = Duration.ofSeconds(5);

        private Builder() {}

        /**
         * Sets how many records of each binding may wait for delivery. For each listener, twice as many
         * may wait. Records for which there is no room are counted as lost.
         *
         * @param records the number, 16,384 unless it is set
         * @return this object
         */
        public Builder capacity(int records) {
            if (records < 2 || records > 1 << 20) {
                throw new IllegalArgumentException("a capacity is 2 to 1048576, not " + records);
            }
            this.capacity = records;
            return this;
        }

        /**
         * Writes the records also to a file of JSON lines, which {@code perfhive report} reads.
         *
         * @param file the file; a file of this name is replaced
         * @return this object
         */
        public Builder jsonLines(Path file) {
            this.file = Optional.of(file);
            return this;
        }

        /**
         * Sets how long the end of the experiment waits for listeners to take the last records.
         *
         * @param timeout the time, 5 seconds unless it is set
         * @return this object
         */
        public Builder listenerTimeout(Duration timeout) {
            this.listenerTimeout = Objects.requireNonNull(timeout);
            return this;
        }

        /**
         * Starts the experiment, without any binding yet.
         *
         * @return the experiment
         * @throws PerfhiveException if the file cannot be made
         */
        public Experiment start() {
            return new Experiment(this);
        }
    }

    private Experiment(Builder builder) {
        Message.Request request =
                new Message.Request().int32(builder.capacity).bool(builder.file.isPresent());
        builder.file.ifPresent(file -> request.text(file.toString()));
        this.object = new NativeObject("experiment", request.send(Native.Op.EXPERIMENT).int64());
        this.listenerTimeout = builder.listenerTimeout;
        this.hasFile = builder.file.isPresent();
    }

    /**
     * A builder for an experiment, which {@link Builder#start} starts.
     *
     * @return the builder, with the defaults
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Adds a listener, which gets the records from now on. A listener that is added before the first
     * binding gets all records.
     *
     * @param listener the listener
     * @return this object
     * @throws PerfhiveException of the kind {@code STATE} after the end
     */
    public Experiment listen(ExperimentListener listener) {
        Objects.requireNonNull(listener);
        long outbox = object.request().send(Native.Op.EXPERIMENT_LISTEN).int64();
        listeners.add(new Listening(listener, outbox));
        keep(false);
        return this;
    }

    /** Keeps the experiment from becoming garbage while it has events of its own and passes them on. */
    private void keep(boolean ownEvents) {
        synchronized (ending) {
            hasOwnEvents |= ownEvents;
            if (ended.isEmpty() && hasOwnEvents && (hasFile || !listeners.isEmpty())) {
                GOING_ON.add(this);
            }
        }
    }

    /**
     * Binds an event source to sensors by name: at each event the sensors are read.
     *
     * @param source the event source
     * @param sources the data sources
     * @param names names such as {@code linux.procfs/Process/Working Set#4711}
     * @return this object
     * @throws PerfhiveException as {@link #bind(EventSource, DataSources, List)}
     */
    public Experiment bind(EventSource source, DataSources sources, String... names) {
        return bind(source, sources, Stream.of(names).map(SensorName::parse).toList());
    }

    /**
     * Binds an event source to sensors: at each event the sensors are read. The binding gets a measurement
     * context of its own in the native library, so that no sample waits for the JVM.
     *
     * @param source the event source; an experiment has at most one of {@link EventSource.Calls}
     * @param sources the data sources; the data source of each sensor must be a {@link CounterDataSource},
     *     and is opened once more for the binding
     * @param names the sensors, each with one instance if it has instances; without sensors only times are
     *     measured
     * @return this object
     * @throws PerfhiveException if a name means no sensor; of the kind {@code REFUSED} if a name means all
     *     instances, or a data source is written in Java; of the kind {@code STATE} after the end, and for a
     *     second binding of calls
     */
    public Experiment bind(EventSource source, DataSources sources, List<SensorName> names) {
        Objects.requireNonNull(sources);
        Binding binding = Binding.of(source);
        Set<CounterDataSource> used = new LinkedHashSet<>();
        Stream.concat(names.stream(), binding.watched.stream())
                .forEach(name -> used.add(ofLibrary(sources.get(name.source()))));
        Message.Request request = object.request()
                .int32(binding.kind)
                .text(source.toString())
                .int64(binding.everyNanos)
                .int64(Double.doubleToLongBits(binding.above))
                .int64(Double.doubleToLongBits(binding.below))
                .texts(binding.watched.stream().map(SensorName::toString).toList())
                .texts(binding.calls)
                .int32(used.size());
        used.forEach(one -> request.handle(one.object()));
        request.texts(names.stream().map(SensorName::toString).toList());
        long queue = request.send(Native.Op.EXPERIMENT_BIND).int64();
        if (source instanceof EventSource.Calls) {
            points = Optional.of(new Points(queue, binding.calls));
        }
        keep(!(source instanceof EventSource.Calls));
        return this;
    }

    /** An event source in the form in which the native library takes it; {@code kind} is 0, 1 or 2. */
    private record Binding(
            int kind,
            long everyNanos,
            double above,
            double below,
            List<SensorName> watched,
            List<String> calls) {
        static Binding of(EventSource source) {
            if (source instanceof EventSource.Interval interval) {
                long nanos = CounterDataSource.nanos(interval.every());
                return new Binding(0, nanos, 0, 0, List.of(), List.of());
            }
            if (source instanceof EventSource.ThresholdCrossing crossing) {
                long nanos = CounterDataSource.nanos(crossing.every());
                List<SensorName> watched = List.of(crossing.sensor());
                return new Binding(
                        1, nanos, crossing.above(), crossing.below(), watched, List.of());
            }
            return new Binding(2, 0, 0, 0, List.of(), ((EventSource.Calls) source).names());
        }
    }

    private static CounterDataSource ofLibrary(DataSource source) {
        if (source instanceof CounterDataSource counters) {
            return counters;
        }
        throw new PerfhiveException(
                PerfhiveException.Kind.REFUSED,
                "the data source \"" + source.name() + "\" is written in Java; an experiment measures"
                        + " those of the native library only. Measure it with a MeasurementContext.");
    }

    /**
     * Reports that the program is at a point, which is an event without a duration. A name that is not
     * bound has no effect.
     *
     * @param name the name of the point
     */
    public void call(String name) {
        tell(name, Points.POINT);
    }

    /**
     * Reports the start of a section, which {@link #endSection} ends on the same thread. Sections may be
     * nested.
     *
     * @param name the name of the section
     */
    public void startSection(String name) {
        tell(name, Points.START);
    }

    /**
     * Reports the end of the innermost section of this name that the thread has started.
     *
     * @param name the name of the section
     */
    public void endSection(String name) {
        tell(name, Points.END);
    }

    /**
     * Reports the start of a section, and its end when the returned object is closed, which must happen on
     * the same thread: {@code try (var checkout = experiment.section("checkout")) { ... }}.
     *
     * @param name the name of the section
     * @return the object that ends the section when it is closed
     */
    public SectionGuard section(String name) {
        startSection(name);
        return new SectionGuard(this, name);
    }

    /** A section under way; see {@link Experiment#section}. */
    public static final class SectionGuard implements AutoCloseable {
        private final Experiment experiment;
        private final String name;
        private boolean isEnded;

        private SectionGuard(Experiment experiment, String name) {
            this.experiment = experiment;
            this.name = name;
        }

        /** Ends the section. A second call does nothing, so that it ends no other section of the same name. */
        @Override
        public void close() {
            if (!isEnded) {
                isEnded = true;
                experiment.endSection(name);
            }
        }
    }

    private void tell(String name, int kind) {
        Objects.requireNonNull(name);
        Optional<Points> bound = points;
        if (bound.isPresent()) {
            bound.get().tell(name, kind);
        }
    }

    /**
     * The counts of each binding's events as they are now.
     *
     * @return the counts, in the order in which the bindings were made
     * @throws IllegalStateException after closing
     */
    public List<BindingCounts> bindings() {
        return BindingCounts.read(object.request().send(Native.Op.EXPERIMENT_BINDINGS));
    }

    /**
     * The counts of each listener's records as they are now.
     *
     * @return the counts, in the order in which the listeners were added
     */
    public List<ListenerCounts> listeners() {
        return listeners.stream().map(Listening::counts).toList();
    }

    /**
     * Ends the experiment: closes the event sources, waits until the events that they still have are
     * measured, and then, at most for {@link Builder#listenerTimeout(Duration)}, until the listeners have taken the
     * last records. A listener that calls this waits for no listener that does the same. A further call returns the
     * same figures; the timeout counts from the first call.
     *
     * @return the figures
     */
    public ExperimentEnd end() {
        ExperimentEnd end;
        long last;
        synchronized (ending) {
            if (ended.isEmpty()) {
                GOING_ON.remove(this);
                ended = Optional.of(ExperimentEnd.read(object.request().send(Native.Op.EXPERIMENT_END)));
                // Half of what the clock has left to count, at most.
                until = System.nanoTime()
                        + Math.min(CounterDataSource.nanos(listenerTimeout), Long.MAX_VALUE / 2);
            }
            end = ended.get();
            last = until;
        }
        boolean isListener = false;
        for (Listening listening : listeners) {
            isListener |= listening.isOwnThread();
        }
        try {
            for (Listening listening : listeners) {
                listening.await(last, isListener);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
        return end.withListeners(listeners());
    }

    /** Ends the experiment, if it has not ended, and frees its native objects. */
    @Override
    public void close() {
        try {
            end();
        } finally {
            points.ifPresent(Points::close);
            object.close();
        }
    }
}
