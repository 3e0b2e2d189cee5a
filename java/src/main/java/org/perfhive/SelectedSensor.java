package org.perfhive;

import java.util.Objects;
import java.util.Optional;

/**
 * A sensor that is to be measured.
 *
 * @param sensor the sensor
 * @param instance the instance; empty for all instances, or for a sensor without instances
 */
public record SelectedSensor(Sensor sensor, Optional<String> instance) {
    /** Refuses {@code null} for any part. */
    public SelectedSensor {
        Objects.requireNonNull(sensor);
        Objects.requireNonNull(instance);
    }
}
