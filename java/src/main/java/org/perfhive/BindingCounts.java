package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * What became of a binding's events.
 *
 * @param source the name of the event source
 * @param events events with a sample
 * @param lost events without room for their record
 * @param missed events that the source knows it missed
 * @param busy time from the source's handing out the events to their complete records
 * @param failure why it ended early, if it did
 */
public record BindingCounts(
        String source, long events, long lost, long missed, Duration busy, Optional<String> failure) {
    /** Checks the parts. */
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
