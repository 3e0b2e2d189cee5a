package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * An event and the readings that were taken at it. Times are in nanoseconds of a clock that only goes
 * forward; on Linux it is that of {@link System#nanoTime}.
 *
 * @param name the name of the event
 * @param kind whether the event is a point, or the start or end of a section
 * @param process the ID of the process in which the event happened; 0 if it belongs to no process
 * @param thread the ID of the Java thread that called; 0 if the event belongs to no thread
 * @param time when the event happened
 * @param threadTime the processor time that the thread had used at a start or end; empty for points,
 *     for virtual threads, and where the event belongs to no thread
 * @param taken when the event source handed out the event
 * @param sample how long the sample took; zero if no sample could be taken
 * @param sampled when the sample was over
 * @param done when the record was complete
 * @param readings the readings, in the order of the columns
 */
public record EventRecord(
        String name,
        EventKind kind,
        int process,
        long thread,
        long time,
        Optional<Duration> threadTime,
        long taken,
        Duration sample,
        long sampled,
        long done,
        List<RecordedReading> readings) {
    /** Refuses {@code null} for any part. */
    public EventRecord {
        Objects.requireNonNull(name);
        Objects.requireNonNull(kind);
        Objects.requireNonNull(threadTime);
        Objects.requireNonNull(sample);
        readings = List.copyOf(readings);
    }

    /**
     * The time between the event and the end of its sample: how old the event was by then.
     *
     * @return the delay
     */
    public Duration delay() {
        return Duration.ofNanos(sampled - time);
    }
}
