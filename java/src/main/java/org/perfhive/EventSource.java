package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/** Where the events of an {@link Experiment} come from. Each binding has a source of its own. */
public sealed interface EventSource {
    /**
     * Events at equal distances of time. Events that are due while an earlier one is measured are
     * missed, and counted as such.
     *
     * @param every the distance, of at least a microsecond
     */
    record Interval(Duration every) implements EventSource {
        /** Checks the parts. */
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
     * @param names the names; without any, all names are events, of up to 256 names
     */
    record Calls(List<String> names) implements EventSource {
        /** Checks the parts. */
        public Calls {
            names = List.copyOf(names);
        }

        /**
         * Calls by name.
         *
         * @param names the names; without any, all names are events, of up to 256 names
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
     * A sensor's value that rises to a limit, which is a start, and falls below another one again,
     * which is an end, so that the time between them is a section. The value is read at an interval;
     * what it does in between is not seen.
     *
     * @param sensor the sensor, of one instance
     * @param above the value at which the section starts
     * @param below the value below which it ends, at most {@code above}
     * @param every the time between two readings, at least a microsecond
     */
    record ThresholdCrossing(SensorName sensor, double above, double below, Duration every)
            implements EventSource {
        /** Checks the parts. */
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

    /** A time as the commands write it: {@code 10ms}. */
    private static String shown(Duration time) {
        long nanos = CounterDataSource.nanos(time);
        if (nanos % 1_000_000_000 == 0) {
            return nanos / 1_000_000_000 + "s";
        }
        return nanos % 1_000_000 == 0 ? nanos / 1_000_000 + "ms" : nanos / 1000 + "us";
    }
}
