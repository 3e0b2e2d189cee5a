package org.perfhive;

/** Which objects a {@link CounterSnapshot} holds. */
public enum SnapshotType {
    /** Every object that is cheap to collect. */
    GLOBAL,
    /** Every object that is expensive to collect. */
    COSTLY,
    /** Chosen objects and counters, by their title indexes ({@link SnapshotInput}). */
    CUSTOM
}
