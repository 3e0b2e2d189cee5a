package org.perfhive;

import java.util.Objects;

/**
 * The type of a counter, which decides how a value is calculated.
 *
 * @param number the number as it stands in the data
 * @param dotnetName the type's name in .NET, such as {@code Timer100Ns}; empty if .NET lacks the type
 * @param unit the unit as far as the type tells it: {@code %}, {@code 1/s}, {@code s} or empty; it does not
 *     tell bytes from other counts
 */
public record CounterType(int number, String dotnetName, String unit) {
    /** Refuses {@code null} for any part. */
    public CounterType {
        Objects.requireNonNull(dotnetName);
        Objects.requireNonNull(unit);
    }

    static CounterType of(Message answer) {
        return new CounterType(answer.int32(), answer.text(), answer.text());
    }
}
