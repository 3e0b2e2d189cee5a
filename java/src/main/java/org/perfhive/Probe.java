package org.perfhive;

import java.time.Duration;
import java.util.List;

/**
 * A part of a data source that measures its sensors together. (An experiment's probes, places in a
 * program, are something else.) Two probes are the same if they are equal.
 */
public interface Probe {
    /**
     * Makes sensors ready to be measured. A first sample, the baseline, is taken, so that the first
     * cycle has rates.
     *
     * @param selection sensors of this probe
     * @param maxAge how old the data of a sample may be if other readers share the data source; with
     *     zero, data is collected for each sample
     * @return the probe context
     * @throws PerfhiveException if an instance does not exist, or the source fails
     */
    ProbeContext open(List<SelectedSensor> selection, Duration maxAge);
}
