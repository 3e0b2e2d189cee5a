package org.perfhive;

/** Which objects a {@link CounterSnapshot} holds. */
public enum SnapshotType {
    /** Every object that is cheap to collect; of a recording every object in it. */
    GLOBAL,
    /** Every object that is expensive to collect; of a recording every object in it. */
    COSTLY,
    /** Chosen objects and counters, by their title indexes ({@link SnapshotInput}). */
    CUSTOM
}
