package org.perfhive;

import java.util.Objects;
import java.util.Optional;

/**
 * The place of a value: a sensor, or one instance of it. A slot stays the same object as long as the
 * instance is measured; of a data source written in Java, as long as its reading also keeps its place
 * among the readings.
 */
public final class SensorSlot {
    /** The place of the sensor among those of its probe context. */
    final int asked;
    private final Sensor sensor;
    private final Optional<String> instance;

    SensorSlot(int asked, Sensor sensor, Optional<String> instance) {
        this.asked = asked;
        this.sensor = Objects.requireNonNull(sensor);
        this.instance = Objects.requireNonNull(instance);
    }

    /**
     * The sensor.
     *
     * @return the sensor
     */
    public Sensor sensor() {
        return sensor;
    }

    /**
     * The instance, if the sensor has instances.
     *
     * @return the instance
     */
    public Optional<String> instance() {
        return instance;
    }

    /**
     * The name of the sensor, with the instance if it has one.
     *
     * @return the name
     */
    public SensorName name() {
        return instance.map(sensor.name()::withInstance).orElse(sensor.name());
    }

    @Override
    public String toString() {
        return name().toString();
    }
}
