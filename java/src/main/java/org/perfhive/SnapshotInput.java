package org.perfhive;

/**
 * One counter, or one whole object, of a {@link CounterSnapshot} of the type {@code CUSTOM}.
 *
 * @param perfObjectIndex the title index of the object
 * @param counterIndex the title index of the counter; 0 for all counters of the object
 */
public record SnapshotInput(int perfObjectIndex, int counterIndex) {}
