package org.perfhive;

import java.util.Objects;
import java.util.Optional;

/**
 * What became of the records for a listener.
 *
 * @param delivered records that the listener has taken
 * @param lost records for which the listener was too slow
 * @param failure what the listener threw, if it did; it gets no more records after that
 * @param isDone whether the listener has got everything that it will get
 */
public record ListenerCounts(
        long delivered, long lost, Optional<Throwable> failure, boolean isDone) {
    /** Checks the parts. */
    public ListenerCounts {
        Objects.requireNonNull(failure);
    }
}
