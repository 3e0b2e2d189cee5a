package org.perfhive;

/** What a {@link CounterSnapshot} holds. */
public enum SnapshotType {
    /** Every object that is cheap to collect. */
    GLOBAL,
    /** Every object that is expensive to collect. */
    COSTLY,
    /** Objects and counters by their title indexes. */
    CUSTOM
}
