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
     * @return the sensor, and the instance unless the name means all instances or has none
     * @throws PerfhiveException if there is no such sensor; if the name has an instance and the sensor
     *     has no instances; or if the name has none and the sensor has instances
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
     * @return the probe; sensors that can be measured together have equal probes
     */
    Probe probe(Sensor sensor);

    @Override
    default void close() {}
}
