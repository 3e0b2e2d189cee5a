package org.perfhive;

import java.util.List;

/**
 * A source of sensors. {@link DataSources#load()} finds data sources with a
 * {@link java.util.ServiceLoader}; a program may register its own in {@code META-INF/services} or
 * add them with {@link DataSources#add}.
 */
public interface DataSource extends AutoCloseable {
    /**
     * The name, the first part of its sensors' names.
     *
     * @return the name, such as {@code linux.procfs}
     */
    String name();

    /**
     * The sensors.
     *
     * @return all sensors
     * @throws PerfhiveException if the source does not answer
     */
    List<Sensor> sensors();

    /**
     * The sensor and instances that a name means.
     *
     * @param name the name; its data source is this one
     * @return the sensor and instance
     * @throws PerfhiveException if there is no such sensor, or the name has an instance where the
     *     sensor has none, or the other way round
     */
    default SelectedSensor find(SensorName name) {
        Sensor sensor = sensors().stream()
                .filter(known -> known.name().group().equalsIgnoreCase(name.group())
                        && known.name().sensor().equalsIgnoreCase(name.sensor()))
                .findFirst()
                .orElseThrow(() -> new PerfhiveException(
                        PerfhiveException.Kind.UNKNOWN_SENSOR, "no sensor " + name));
        if (sensor.hasInstances() != name.instance().isPresent()) {
            throw new PerfhiveException(PerfhiveException.Kind.INSTANCES, sensor.hasInstances()
                    ? name + " has instances: add #INSTANCE, or #* for all of them"
                    : name.withoutInstance() + " has no instances");
        }
        return new SelectedSensor(sensor, name.instance().filter(one -> !one.equals("*")));
    }

    /**
     * The probe that measures a sensor.
     *
     * @param sensor a sensor of this source
     * @return the probe, an equal one for all sensors that it can measure together
     */
    Probe probe(Sensor sensor);

    @Override
    default void close() {}
}
