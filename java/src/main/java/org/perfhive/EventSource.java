package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/** The source of a binding's events in an {@link Experiment}. Each binding has an event source of its own. */
public sealed interface EventSource {
    /**
     * Events at equal intervals of time. An event that is due while an earlier one is measured is
     * missed, and counted as missed.
     *
     * @param every the interval, at least a microsecond
     */
    record Interval(Duration every) implements EventSource {
        /** Refuses an interval that is shorter than a microsecond. */
        public Interval {
            checkInterval(every);
        }

        @Override
        public String toString() {
            return "interval " + shown(every);
        }
    }

    /**
     * The calls of {@link Experiment#call}, {@link Experiment#startSection},
     * {@link Experiment#endSection} and {@link Experiment#section} with these names.
     *
     * @param names the names, at most 256, none of them empty; an empty list stands for all names, of
     *     which the first 256 are events
     */
    record Calls(List<String> names) implements EventSource {
        /** Refuses {@code null} for any part. */
        public Calls {
            names = List.copyOf(names);
        }

        /**
         * Calls by name.
         *
         * @param names the names, at most 256, none of them empty; an empty list stands for all names, of
         *     which the first 256 are events
         */
        public Calls(String... names) {
            this(List.of(names));
        }

        @Override
        public String toString() {
            return "call";
        }
    }

    /**
     * The times at which a sensor's value crosses a threshold. A start happens when the value rises to
     * the limit {@code above}, and an end when it then falls below the limit {@code below}: the time
     * between them is a section. The value is read at an interval; changes between two readings are not
     * seen.
     *
     * @param sensor the sensor, with one instance if it has instances
     * @param above the value at which a section starts
     * @param below the value below which the section ends, at most {@code above}
     * @param every the time between two readings, at least a microsecond
     */
    record ThresholdCrossing(SensorName sensor, double above, double below, Duration every)
            implements EventSource {
        /** Refuses {@code null}, and an interval that is shorter than a microsecond. */
        public ThresholdCrossing {
            Objects.requireNonNull(sensor);
            checkInterval(every);
        }

        @Override
        public String toString() {
            return "above " + sensor + " " + above;
        }
    }

    private static void checkInterval(Duration every) {
        if (every.compareTo(Duration.ofNanos(1000)) < 0) {
            throw new IllegalArgumentException(every + " is shorter than a microsecond");
        }
    }

    /** A time as perfhive's commands write it, in whole s, ms or us: {@code 10ms}. */
    private static String shown(Duration time) {
        long nanos = CounterDataSource.nanos(time);
        if (nanos % 1_000_000_000 == 0) {
            return nanos / 1_000_000_000 + "s";
        }
        return nanos % 1_000_000 == 0 ? nanos / 1_000_000 + "ms" : nanos / 1000 + "us";
    }
}
