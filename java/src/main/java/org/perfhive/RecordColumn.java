package org.perfhive;

import java.util.Objects;
import java.util.OptionalLong;

/**
 * One sensor of the records of a binding.
 *
 * @param name the sensor, with its instance if it has one
 * @param unit the unit of its values, empty for none
 * @param rawPerSecond how many units of the raw value are a second, where it counts time
 */
public record RecordColumn(SensorName name, String unit, OptionalLong rawPerSecond) {
    /** Checks the parts. */
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
