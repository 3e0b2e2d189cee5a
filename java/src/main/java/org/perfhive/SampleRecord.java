package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * What is recorded about a sample.
 *
 * @param times the readings of the clocks
 * @param duration how long the sample took
 * @param age how long before the sample the oldest of its data was collected; zero where all was
 *     collected for the sample
 * @param anomalies the anomalies; after decoding, instances that came and went too
 */
public record SampleRecord(
        List<TimeReading> times, Duration duration, Duration age, List<Anomaly> anomalies) {
    /** Checks the parts. */
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
        /** Checks the parts. */
        public TimeReading {
            Objects.requireNonNull(label);
            Objects.requireNonNull(before);
            Objects.requireNonNull(after);
        }
    }
}
