package org.perfhive;

import java.util.Objects;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * The reading of one sensor in an {@link EventRecord}.
 *
 * @param value the value, if there is one; a rate or share is that since the binding's previous event
 * @param raw the raw value from which the value is calculated, if there is one
 */
public record RecordedReading(OptionalDouble value, OptionalLong raw) {
    /** Refuses {@code null} for any part. */
    public RecordedReading {
        Objects.requireNonNull(value);
        Objects.requireNonNull(raw);
    }
}
