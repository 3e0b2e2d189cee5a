package org.perfhive;

/** A sensor without instances. */
public final class SingleSensor extends Sensor {
    /**
     * A sensor.
     *
     * @param id its number in its data source
     * @param name its name, without an instance
     * @param traits what else is known of it
     */
    public SingleSensor(long id, SensorName name, Traits traits) {
        super(id, name, traits);
    }
}
