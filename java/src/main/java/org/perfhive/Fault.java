package org.perfhive;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Something that went wrong in a collection while the rest went on.
 *
 * @param provider the provider or source concerned
 * @param object the title index of the object concerned; empty if no single object is concerned
 * @param instance the instance concerned; empty if no single instance is concerned
 * @param lostData whether data is missing; {@code false} for a warning
 * @param message what happened, for people
 */
public record Fault(
        String provider,
        OptionalLong object,
        Optional<String> instance,
        boolean lostData,
        String message) {
    /** Refuses {@code null} for any part. */
    public Fault {
        Objects.requireNonNull(provider);
        Objects.requireNonNull(object);
        Objects.requireNonNull(instance);
        Objects.requireNonNull(message);
    }

    static Fault of(Message answer) {
        String provider = answer.text();
        long object = answer.int64();
        return new Fault(
                provider,
                object < 0 ? OptionalLong.empty() : OptionalLong.of(object),
                answer.optionalText(),
                answer.bool(),
                answer.text());
    }
}
