package org.perfhive;

import java.util.Objects;
import java.util.OptionalLong;

/**
 * One sensor of the records of a binding.
 *
 * @param name the sensor, with its instance if it has one
 * @param unit the unit of the sensor's values, empty for none
 * @param rawPerSecond how many units of the raw value are a second; empty if it does not count time
 */
public record RecordColumn(SensorName name, String unit, OptionalLong rawPerSecond) {
    /** Refuses {@code null} for any part. */
    public RecordColumn {
        Objects.requireNonNull(name);
        Objects.requireNonNull(unit);
        Objects.requireNonNull(rawPerSecond);
    }

    static RecordColumn read(Message message) {
        SensorName name = new SensorName(
                message.text(), message.text(), message.text(), message.optionalText());
        String unit = message.text();
        long perSecond = message.int64();
        return new RecordColumn(
                name, unit, perSecond == 0 ? OptionalLong.empty() : OptionalLong.of(perSecond));
    }
}
