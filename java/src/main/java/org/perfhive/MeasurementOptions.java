package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The clocks, the patience and the age of data of a {@link MeasurementContext}.
 *
 * @param times clocks that are read around each sample; the first one encloses the others
 * @param patience the time that each data source has for a sample, if it is limited; of use with
 *     sources that keep deadlines
 * @param maxAge how old the data of a sample may be, where other readers share the data source;
 *     zero collects for each sample
 */
public record MeasurementOptions(
        List<TimeSource> times, Optional<Duration> patience, Duration maxAge) {
    /** No clocks, no limit, new data for each sample. */
    public static final MeasurementOptions DEFAULT =
            new MeasurementOptions(List.of(), Optional.empty(), Duration.ZERO);

    /** Checks the parts. */
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
     * The same options with a limit to the time of a sample.
     *
     * @param patience the time that each data source has
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
