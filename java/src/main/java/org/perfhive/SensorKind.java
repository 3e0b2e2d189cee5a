package org.perfhive;

/** The behaviour of a sensor's quantity. */
public enum SensorKind {
    /** A count that only grows; its reading is the growth, a rate or a share between two samples. */
    COUNTER,
    /** A momentary number. */
    GAUGE
}
