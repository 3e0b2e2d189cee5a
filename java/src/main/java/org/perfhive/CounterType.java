package org.perfhive;

import java.util.Objects;

/**
 * The type of a counter, which decides how a value is calculated.
 *
 * @param number the number as it stands in the data
 * @param dotnetName the name that .NET has for it, such as {@code Timer100Ns}; empty for none
 * @param unit the unit of its values, such as {@code %}; empty for none
 */
public record CounterType(int number, String dotnetName, String unit) {
    /** Checks the parts. */
    public CounterType {
        Objects.requireNonNull(dotnetName);
        Objects.requireNonNull(unit);
    }

    static CounterType of(Message answer) {
        return new CounterType(answer.int32(), answer.text(), answer.text());
    }
}
