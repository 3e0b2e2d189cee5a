package org.perfhive;

import java.util.List;

/**
 * Sensors of one {@link Probe}, ready to be measured. A {@link MeasurementContext} calls the methods in
 * the right order: {@code baseline} once, and then {@code prepare}, {@code sample} and {@code decode}
 * in turn. If {@code prepare} or {@code sample} failed, it calls {@code fail} instead of {@code decode};
 * if {@code decode} fails, it calls {@code fail} after it.
 */
public interface ProbeContext extends AutoCloseable {
    /**
     * Adds the readings of the baseline, a first sample. They show which readings there will be.
     *
     * @param out takes the readings; it is empty at the call
     * @throws PerfhiveException if there are none: then no measurement context is made
     */
    default void baseline(ProbeReadings out) {}

    /**
     * Makes everything ready for a sample.
     *
     * @throws PerfhiveException if no sample can be taken
     */
    void prepare();

    /**
     * Takes the data and does nothing else. It should not allocate.
     *
     * @param patienceNanos the timeout of the sample in nanoseconds; a negative number for none
     * @return the number of anomalies
     * @throws PerfhiveException where no data could be taken
     */
    int sample(long patienceNanos);

    /**
     * Adds the readings of the sample, in the order of the selection.
     *
     * @param out takes the readings; it is empty at the call
     * @throws PerfhiveException if the sample cannot be decoded
     */
    void decode(ProbeReadings out);

    /**
     * Gives each reading the reason why it has no value.
     *
     * @param why the failure of {@code prepare}, {@code sample} or {@code decode}
     * @param out the readings of the cycle before, which get the reason
     */
    default void fail(PerfhiveException why, ProbeReadings out) {
        out.fail(NoValue.sourceFailed(why));
    }

    /**
     * The anomalies of the sample; after decoding, also those about its instances.
     *
     * @return the anomalies
     */
    default List<Anomaly> anomalies() {
        return List.of();
    }

    @Override
    default void close() {}
}
