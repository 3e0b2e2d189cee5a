package org.perfhive;

/** The type of a sensor's values. */
public enum ValueType {
    /** A whole number of 32 bits, not negative. */
    INT32,
    /** A whole number of 64 bits, not negative. */
    INT64,
    /** A floating-point number. */
    DOUBLE,
    /** Of an item of a {@link CounterSnapshot}: there is no value. */
    NONE
}
