package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Counts of a binding's events: how many were measured, and how many have no record.
 *
 * @param source the name of the event source
 * @param events the number of events that were measured, including those that were then lost
 * @param lost the number of events that were measured and then lost, since there was no room
 * @param missed the number of events that the event source knows it missed
 * @param busy the sum of the times from when the event source handed out an event until its record
 *     was complete
 * @param failure the error with which the binding ended before the experiment, if it did
 */
public record BindingCounts(
        String source, long events, long lost, long missed, Duration busy, Optional<String> failure) {
    /** Refuses {@code null} for any part. */
    public BindingCounts {
        Objects.requireNonNull(source);
        Objects.requireNonNull(busy);
        Objects.requireNonNull(failure);
    }

    static List<BindingCounts> read(Message message) {
        return List.copyOf(message.list(() -> new BindingCounts(
                message.text(),
                message.int64(),
                message.int64(),
                message.int64(),
                Duration.ofNanos(message.int64()),
                message.optionalText())));
    }
}
