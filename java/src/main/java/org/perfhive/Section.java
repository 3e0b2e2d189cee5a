package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A section of the program: from a start to the end of the same name on the same thread.
 *
 * @param name the name
 * @param process the ID of the process; 0 if the section belongs to none
 * @param thread the thread, as {@link EventRecord#thread()}
 * @param start the time of the start in nanoseconds, on the clock of {@link EventRecord#time()}
 * @param duration the time from start to end, including the calls in the section
 * @param threadTime the processor time that the thread used in the section; empty for virtual threads,
 *     and for events that no thread reported
 * @param calls the number of calls in the section with which its thread reported its processor time:
 *     the section's own start, and starts and ends of other sections
 * @param growth how much the raw value of each column grew between the samples at start and end;
 *     negative if a gauge shrank; empty without two raw values, and if a counter shrank. Both
 *     samples are late by the {@link EventRecord#delay()} of their record
 */
public record Section(
        String name,
        int process,
        long thread,
        long start,
        Duration duration,
        Optional<Duration> threadTime,
        long calls,
        List<OptionalLong> growth) {
    /** Refuses {@code null} for any part. */
    public Section {
        Objects.requireNonNull(name);
        Objects.requireNonNull(duration);
        Objects.requireNonNull(threadTime);
        growth = List.copyOf(growth);
    }

    static Section read(Message message) {
        String name = message.text();
        int process = message.int32();
        long thread = Integer.toUnsignedLong(message.int32());
        long start = message.int64();
        Duration duration = Duration.ofNanos(message.int64());
        long threadTime = message.int64();
        long calls = message.int64();
        List<OptionalLong> growth = message.list(() -> {
            boolean isThere = message.bool();
            long grown = message.int64();
            return isThere ? OptionalLong.of(grown) : OptionalLong.empty();
        });
        Optional<Duration> ofThread =
                threadTime < 0 ? Optional.empty() : Optional.of(Duration.ofNanos(threadTime));
        return new Section(name, process, thread, start, duration, ofThread, calls, growth);
    }
}
