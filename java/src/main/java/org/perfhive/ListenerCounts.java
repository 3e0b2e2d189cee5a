package org.perfhive;

import java.util.Objects;
import java.util.Optional;

/**
 * Counts of the records for a listener, and the listener's state.
 *
 * @param delivered the number of records that the listener has taken
 * @param lost the number of records that were dropped because the listener was too slow
 * @param failure what the listener threw, if it did; it gets no more records after that
 * @param isDone whether the listener gets no more records, so that the counts are final
 */
public record ListenerCounts(
        long delivered, long lost, Optional<Throwable> failure, boolean isDone) {
    /** Refuses {@code null} for any part. */
    public ListenerCounts {
        Objects.requireNonNull(failure);
    }
}
