package org.perfhive;

import java.util.Objects;
import java.util.Optional;

/**
 * The name of a sensor, unique over all data sources: {@code datasource/group/sensor} or
 * {@code datasource/group/sensor#instance}. In this text {@code %25}, {@code %2F} and {@code %23}
 * stand for {@code %}, {@code /} and {@code #} in a part; the parts of this record are not encoded.
 * The instance {@code *} means all instances, now and later.
 *
 * @param source the data source
 * @param group the group: the object of a performance counter
 * @param sensor the sensor: the counter
 * @param instance the instance, if the name has one
 */
public record SensorName(String source, String group, String sensor, Optional<String> instance) {
    /** Refuses {@code null} for any part. */
    public SensorName {
        Objects.requireNonNull(source);
        Objects.requireNonNull(group);
        Objects.requireNonNull(sensor);
        Objects.requireNonNull(instance);
    }

    /**
     * The name of a sensor without an instance, from its parts.
     *
     * @param source the data source
     * @param group the group
     * @param sensor the sensor
     * @return the name
     */
    public static SensorName of(String source, String group, String sensor) {
        return new SensorName(source, group, sensor, Optional.empty());
    }

    /**
     * Parses the text of a name.
     *
     * @param text the text, such as {@code linux.procfs/Process/%25 Processor Time#4711}
     * @return the name
     * @throws PerfhiveException if the text is no name
     */
    public static SensorName parse(String text) {
        Message answer = new Message.Request().text(text).send(Native.Op.PARSE_NAME);
        return new SensorName(answer.text(), answer.text(), answer.text(), answer.optionalText());
    }

    /**
     * The same sensor's name with an instance.
     *
     * @param instance the instance, or {@code *} for all
     * @return the name
     */
    public SensorName withInstance(String instance) {
        return new SensorName(source, group, sensor, Optional.of(instance));
    }

    /**
     * The same sensor's name without an instance.
     *
     * @return the name
     */
    public SensorName withoutInstance() {
        return new SensorName(source, group, sensor, Optional.empty());
    }

    boolean equalsIgnoreCase(SensorName other) {
        return source.equalsIgnoreCase(other.source)
                && group.equalsIgnoreCase(other.group)
                && sensor.equalsIgnoreCase(other.sensor)
                && (instance.isPresent() && other.instance.isPresent()
                        ? instance.get().equalsIgnoreCase(other.instance.get())
                        : instance.equals(other.instance));
    }

    /** Returns the text that {@link #parse} takes. */
    @Override
    public String toString() {
        String name = encode(source) + "/" + encode(group) + "/" + encode(sensor);
        return instance.map(part -> name + "#" + encode(part)).orElse(name);
    }

    private static String encode(String part) {
        return part.replace("%", "%25").replace("/", "%2F").replace("#", "%23");
    }
}
