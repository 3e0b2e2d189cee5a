package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The options of a {@link MeasurementContext}: its clocks, and the timeout and greatest age of data of
 * its samples.
 *
 * @param times clocks that are read before and after each sample; the first one encloses the others
 * @param patience the timeout of each data source for a sample; empty for none. It has an effect only
 *     on sources that keep deadlines
 * @param maxAge how old the data of a sample may be if other readers share the data source; with
 *     zero, data is collected for each sample
 */
public record MeasurementOptions(
        List<TimeSource> times, Optional<Duration> patience, Duration maxAge) {
    /** The default options: no clocks, no timeout, data collected for each sample. */
    public static final MeasurementOptions DEFAULT =
            new MeasurementOptions(List.of(), Optional.empty(), Duration.ZERO);

    /** Refuses {@code null} for any part, and negative durations. */
    public MeasurementOptions {
        times = List.copyOf(times);
        if (maxAge.isNegative() || patience.filter(Duration::isNegative).isPresent()) {
            throw new IllegalArgumentException("a negative time");
        }
    }

    /**
     * The same options with these clocks.
     *
     * @param times the clocks
     * @return the options
     */
    public MeasurementOptions withTimes(TimeSource... times) {
        return new MeasurementOptions(List.of(times), patience, maxAge);
    }

    /**
     * The same options with a timeout for each sample.
     *
     * @param patience the timeout of each data source
     * @return the options
     */
    public MeasurementOptions withPatience(Duration patience) {
        return new MeasurementOptions(times, Optional.of(patience), maxAge);
    }

    /**
     * The same options with another limit to the age of data.
     *
     * @param maxAge how old data may be
     * @return the options
     */
    public MeasurementOptions withMaxAge(Duration maxAge) {
        return new MeasurementOptions(times, patience, maxAge);
    }
}
