package org.perfhive;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The value of a slot in one sample, and the raw values that it is made of. A reading does not
 * change, so it may be kept.
 *
 * @param asked the place of its sensor among those asked for; a sensor with all instances has several
 *     readings
 * @param slot the sensor and the instance
 * @param value the value in the sensor's unit, if there is one
 * @param noValue the reason why there is no value; empty if there is a value
 * @param raw what the source counts: events, bytes, or time in units of 100 ns or ticks of the
 *     clock; of most gauges the quantity itself
 * @param before the raw value in the sample before, if that sample had the same instance
 */
public record SensorReading(
        int asked,
        SensorSlot slot,
        Optional<ValueHandle> value,
        Optional<NoValue> noValue,
        OptionalLong raw,
        OptionalLong before) {
    /** Refuses {@code null} for any part, and both or neither of a value and a reason. */
    public SensorReading {
        Objects.requireNonNull(slot);
        if (value.isPresent() == noValue.isPresent()) {
            throw new IllegalArgumentException("a reading has a value or a reason");
        }
        Objects.requireNonNull(raw);
        Objects.requireNonNull(before);
    }

    /**
     * The name of the sensor, with its instance.
     *
     * @return the name
     */
    public SensorName name() {
        return slot.name();
    }

    /**
     * How much the raw value grew since the sample before.
     *
     * @return the growth; empty without two raw values, and where the raw value shrank
     */
    public OptionalLong difference() {
        boolean grew = raw.isPresent()
                && before.isPresent()
                && Long.compareUnsigned(raw.getAsLong(), before.getAsLong()) >= 0;
        return grew ? OptionalLong.of(raw.getAsLong() - before.getAsLong()) : OptionalLong.empty();
    }

    @Override
    public String toString() {
        String shown = value.map(Object::toString).orElseGet(() -> noValue.map(NoValue::message).orElse(""));
        return name() + " = " + shown;
    }
}
