package org.perfhive;

import java.util.Objects;
import java.util.Optional;

/**
 * What became of the records for a listener.
 *
 * @param delivered records that it got
 * @param lost records that it was too slow for
 * @param failure what it threw; it gets no more after that
 * @param isDone whether it has got everything that it will get
 */
public record ListenerCounts(
        long delivered, long lost, Optional<Throwable> failure, boolean isDone) {
    /** Checks the parts. */
    public ListenerCounts {
        Objects.requireNonNull(failure);
    }
}
