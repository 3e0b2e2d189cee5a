package org.perfhive;

import java.util.Objects;

/**
 * One counter of an object of a {@link CounterSnapshot}.
 *
 * @param counterDescription the title index of the description
 * @param counterIndex the title index of the name
 * @param counterType the raw type, as it stands in the data
 * @param counterKind counter or gauge
 * @param valueType the type of the values
 */
public record CounterRecord(
        int counterDescription,
        int counterIndex,
        int counterType,
        SensorKind counterKind,
        ValueType valueType) {
    /** Refuses {@code null} for any part. */
    public CounterRecord {
        Objects.requireNonNull(counterKind);
        Objects.requireNonNull(valueType);
    }
}
