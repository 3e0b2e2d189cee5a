package org.perfhive;

import java.util.Objects;

/** One thing that a data source can measure. */
public abstract sealed class Sensor permits SingleSensor, StaticSensor {
    private final long id;
    private final SensorName name;
    private final Traits traits;

    /**
     * The properties of a sensor other than its name.
     *
     * @param kind whether the sensor counts or shows a momentary number
     * @param valueType the type of the values
     * @param unit the unit of the values, empty for none
     * @param help what the sensor is about; empty without a help text
     * @param isCostly whether measuring the sensor costs more than measuring others
     */
    public record Traits(
            SensorKind kind, ValueType valueType, String unit, String help, boolean isCostly) {
        /** Refuses {@code null} for any part. */
        public Traits {
            Objects.requireNonNull(kind);
            Objects.requireNonNull(valueType);
            Objects.requireNonNull(unit);
            Objects.requireNonNull(help);
        }
    }

    Sensor(long id, SensorName name, Traits traits) {
        if (name.instance().isPresent()) {
            throw new IllegalArgumentException(name + " is the name of an instance");
        }
        this.id = id;
        this.name = name;
        this.traits = Objects.requireNonNull(traits);
    }

    /**
     * The number of the sensor in its data source.
     *
     * @return the number
     */
    public final long id() {
        return id;
    }

    /**
     * The name, without an instance.
     *
     * @return the name
     */
    public final SensorName name() {
        return name;
    }

    /**
     * The behaviour of the sensor's quantity: a count or a momentary number.
     *
     * @return the kind
     */
    public final SensorKind kind() {
        return traits.kind();
    }

    /**
     * The type of the values.
     *
     * @return the type
     */
    public final ValueType valueType() {
        return traits.valueType();
    }

    /**
     * The unit of the values.
     *
     * @return the unit; empty where there is none or it is not known
     */
    public final String unit() {
        return traits.unit();
    }

    /**
     * What the sensor is about.
     *
     * @return the help text; empty where the source has none
     */
    public final String help() {
        return traits.help();
    }

    /**
     * Whether measuring the sensor costs more than measuring others.
     *
     * @return whether the sensor is costly
     */
    public final boolean isCostly() {
        return traits.isCostly();
    }

    /**
     * Whether the sensor has instances: then it is a {@link StaticSensor}.
     *
     * @return whether the sensor has instances
     */
    public final boolean hasInstances() {
        return this instanceof StaticSensor;
    }

    @Override
    public String toString() {
        return name.toString();
    }
}
