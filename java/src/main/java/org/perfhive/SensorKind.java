package org.perfhive;

/** The behaviour of a sensor's quantity. */
public enum SensorKind {
    /** A count that only grows; the value of a reading is its growth, rate or share between two samples. */
    COUNTER,
    /** A momentary number. */
    GAUGE
}
