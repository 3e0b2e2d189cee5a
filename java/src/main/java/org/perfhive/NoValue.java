package org.perfhive;

import java.util.Objects;

/**
 * The reason why there is no value. It is an answer, not a failure.
 *
 * @param code the word that programs decide on, such as {@code needs-two-samples}, {@code born},
 *     {@code vanished} or {@code source-failed}; the same as in perfhive's other outputs
 * @param message the reason for people
 */
public record NoValue(String code, String message) {
    /** Refuses {@code null} for any part. */
    public NoValue {
        Objects.requireNonNull(code);
        Objects.requireNonNull(message);
    }

    /**
     * The reason for a value that is missing because its data source failed.
     *
     * @param error the failure
     * @return a reason with the code {@code source-failed}
     */
    public static NoValue sourceFailed(Throwable error) {
        return new NoValue("source-failed", String.valueOf(error.getMessage()));
    }

    @Override
    public String toString() {
        return message;
    }
}
