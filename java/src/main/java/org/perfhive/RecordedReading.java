package org.perfhive;

import java.util.Objects;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * A reading as records keep it.
 *
 * @param value the value, if there is one: for a rate or share, since the event before of this binding
 * @param raw the raw value from which the value is calculated, if there is one
 */
public record RecordedReading(OptionalDouble value, OptionalLong raw) {
    /** Checks the parts. */
    public RecordedReading {
        Objects.requireNonNull(value);
        Objects.requireNonNull(raw);
    }
}
