package org.perfhive;

/**
 * Gets the records of an {@link Experiment}, each listener on a thread of its own. A listener that is
 * slow or throws holds up neither the experiment nor other listeners.
 */
@FunctionalInterface
public interface ExperimentListener {
    /**
     * Takes records, and the sections that end with them.
     *
     * @param batch the records of one binding
     * @throws Exception if the listener cannot go on: it then gets no more records, and
     *     {@link ListenerCounts#failure()} is this exception
     */
    void deliver(RecordBatch batch) throws Exception;
}
