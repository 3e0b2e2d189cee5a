package org.perfhive;

import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;

/** A sensor with instances. */
public final class StaticSensor extends Sensor {
    private final Supplier<List<String>> instances;

    /**
     * A sensor.
     *
     * @param id its number in its data source
     * @param name its name, without an instance
     * @param traits what else is known of it
     * @param instances tells the names of the present instances
     */
    public StaticSensor(long id, SensorName name, Traits traits, Supplier<List<String>> instances) {
        super(id, name, traits);
        this.instances = Objects.requireNonNull(instances);
    }

    /**
     * The names of the present instances, which are unique: for Process and Thread they are the IDs.
     *
     * @return the names
     * @throws PerfhiveException if the source does not answer
     */
    public List<String> instances() {
        return instances.get();
    }
}
