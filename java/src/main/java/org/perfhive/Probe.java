package org.perfhive;

import java.time.Duration;
import java.util.List;

/**
 * One way in which a data source collects. Sensors of one probe are measured together. Two probes
 * are the same if they are equal.
 */
public interface Probe {
    /**
     * Makes sensors ready to be measured. A first sample, the baseline, is taken, so that the first
     * cycle has rates.
     *
     * @param selection sensors of this probe
     * @param maxAge how old the data of a sample may be, where readers share it; zero for new data
     * @return the probe context
     * @throws PerfhiveException if an instance does not exist, or the source fails
     */
    ProbeContext open(List<SelectedSensor> selection, Duration maxAge);
}
