package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * The times and anomalies of a sample of a {@link MeasurementContext}.
 *
 * @param times the readings of the clocks before and after the sample
 * @param duration how long the sample took
 * @param age how long before the sample the oldest of its data was collected; zero if all of it was
 *     collected for the sample
 * @param anomalies the anomalies; after decoding, also those about instances that came or went
 */
public record SampleRecord(
        List<TimeReading> times, Duration duration, Duration age, List<Anomaly> anomalies) {
    /** Refuses {@code null} for any part. */
    public SampleRecord {
        times = List.copyOf(times);
        Objects.requireNonNull(duration);
        Objects.requireNonNull(age);
        anomalies = List.copyOf(anomalies);
    }

    /**
     * The times of a clock around a sample, in nanoseconds since the beginning of the clock.
     *
     * @param label the name of the clock
     * @param before the time before the sample; empty where the clock could not be read
     * @param after the time after the sample; empty where the clock could not be read
     */
    public record TimeReading(String label, OptionalLong before, OptionalLong after) {
        /** Refuses {@code null} for any part. */
        public TimeReading {
            Objects.requireNonNull(label);
            Objects.requireNonNull(before);
            Objects.requireNonNull(after);
        }
    }
}
