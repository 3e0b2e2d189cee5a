package org.perfhive;

import java.util.List;

/**
 * Sensors of one probe, ready to be measured. A {@link MeasurementContext} calls the methods in the
 * right order: {@code baseline} once, and then {@code prepare}, {@code sample} and {@code decode}
 * in turn; {@code fail} instead of {@code decode} where one of the others failed.
 */
public interface ProbeContext extends AutoCloseable {
    /**
     * Adds the readings of the first sample, which show the structure.
     *
     * @param out the readings, empty
     * @throws PerfhiveException where that fails: then no context is made
     */
    default void baseline(ProbeReadings out) {}

    /**
     * Makes everything ready for a sample.
     *
     * @throws PerfhiveException where that fails
     */
    void prepare();

    /**
     * Takes the data and does nothing else. It should not allocate.
     *
     * @param patienceNanos the time that the sample may take, or a negative number for any
     * @return the number of anomalies
     * @throws PerfhiveException where no data could be taken
     */
    int sample(long patienceNanos);

    /**
     * Adds the readings of the sample, in the order of the selection.
     *
     * @param out the readings, empty
     * @throws PerfhiveException where that fails
     */
    void decode(ProbeReadings out);

    /**
     * Tells the reason why there is no sample. The readings still are those before; each gets the
     * reason instead of its value.
     *
     * @param why the failure
     * @param out the readings before
     */
    default void fail(PerfhiveException why, ProbeReadings out) {
        out.fail(NoValue.sourceFailed(why));
    }

    /**
     * The anomalies of the sample, and after decoding those of its instances too.
     *
     * @return the anomalies
     */
    default List<Anomaly> anomalies() {
        return List.of();
    }

    @Override
    default void close() {}
}
