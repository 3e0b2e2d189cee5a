package org.perfhive;

import java.util.AbstractList;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.RandomAccess;

/**
 * The readings of a {@link MeasurementContext}, in the order of the sensors asked for. The list
 * belongs to the context, whose next {@code decode} fills it anew; a {@link SensorReading} that was
 * taken out of it does not change. {@link #hasValue}, {@link #approximately} and
 * {@link #longBits} read values without an object for each.
 *
 * <p>The list must not be read while another thread decodes: values could then stand at the wrong
 * sensors. {@link SensorReading}s that were taken out before may be handed to any thread.
 */
public final class Readings extends AbstractList<SensorReading> implements RandomAccess {
    private final ProbeReadings[] parts;
    /** For each part, the places of its sensors among all that were asked for. */
    private final int[][] asked;
    private final int[] versions;
    /** The part and the place of each reading, where there are several parts. */
    private int[] partOf = {};
    private int[] placeOf = {};
    private int size;

    Readings(ProbeReadings[] parts, int[][] asked) {
        this.parts = parts;
        this.asked = asked;
        this.versions = new int[parts.length];
        java.util.Arrays.fill(versions, -2);
    }

    /** Puts the readings of all parts in order; quick where their structure is as before. */
    void arrange() {
        boolean same = true;
        size = 0;
        for (int part = 0; part < parts.length; part++) {
            same &= versions[part] == parts[part].version;
            versions[part] = parts[part].version;
            size += parts[part].count;
        }
        if (same || parts.length == 1) {
            return;
        }
        partOf = new int[size];
        placeOf = new int[size];
        int[] next = new int[parts.length];
        for (int place = 0; place < size; place++) {
            int first = -1;
            for (int part = 0; part < parts.length; part++) {
                if (next[part] < parts[part].count
                        && (first < 0 || askedAt(part, next[part]) < askedAt(first, next[first]))) {
                    first = part;
                }
            }
            partOf[place] = first;
            placeOf[place] = next[first]++;
        }
    }

    private int askedAt(int part, int place) {
        return asked[part][parts[part].slots[place].asked];
    }

    private ProbeReadings part(int index) {
        java.util.Objects.checkIndex(index, size);
        return parts[parts.length == 1 ? 0 : partOf[index]];
    }

    private int place(int index) {
        return parts.length == 1 ? index : placeOf[index];
    }

    @Override
    public int size() {
        return size;
    }

    /**
     * Whether a reading has a value.
     *
     * @param index the place of the reading
     * @return whether it has one
     */
    public boolean hasValue(int index) {
        return (part(index).codes[place(index)] & ProbeReadings.TYPE) != ProbeReadings.NONE;
    }

    /**
     * The value of a reading as a double, rounded where it has to be.
     *
     * @param index the place of the reading
     * @return the value; not a number where there is none
     */
    public double approximately(int index) {
        ProbeReadings part = part(index);
        long bits = part.bits[place(index)];
        return switch (part.codes[place(index)] & ProbeReadings.TYPE) {
            case ProbeReadings.DOUBLE -> Double.longBitsToDouble(bits);
            case ProbeReadings.NONE -> Double.NaN;
            default -> bits >= 0 ? bits : new LongValueHandle(bits).approximately();
        };
    }

    /**
     * The bits of a value: those of the unsigned whole number, or of the double
     * ({@link Double#longBitsToDouble}), as {@link Sensor#valueType()} says. Of use only where
     * {@link #hasValue} says so.
     *
     * @param index the place of the reading
     * @return the bits
     */
    public long longBits(int index) {
        return part(index).bits[place(index)];
    }

    /**
     * The slot of a reading.
     *
     * @param index the place of the reading
     * @return the slot
     */
    public SensorSlot slot(int index) {
        return part(index).slots[place(index)];
    }

    @Override
    public SensorReading get(int index) {
        ProbeReadings part = part(index);
        int place = place(index);
        int code = part.codes[place];
        long bits = part.bits[place];
        Optional<ValueHandle> value = switch (code & ProbeReadings.TYPE) {
            case ProbeReadings.INT32 -> Optional.of(new IntValueHandle((int) bits));
            case ProbeReadings.INT64 -> Optional.of(new LongValueHandle(bits));
            case ProbeReadings.DOUBLE -> Optional.of(
                    new DoubleValueHandle(Double.longBitsToDouble(bits)));
            default -> Optional.empty();
        };
        Optional<NoValue> why = value.isPresent()
                ? Optional.empty()
                : Optional.of(part.reasons.get((int) bits));
        return new SensorReading(
                asked[parts.length == 1 ? 0 : partOf[index]][part.slots[place].asked],
                part.slots[place],
                value,
                why,
                optional(code & ProbeReadings.RAW, part.raw[place]),
                optional(code & ProbeReadings.BEFORE, part.before[place]));
    }

    private static OptionalLong optional(int isThere, long value) {
        return isThere == 0 ? OptionalLong.empty() : OptionalLong.of(value);
    }

    /**
     * The value of a sensor by its name.
     *
     * @param name the name, with the instance if the sensor has instances
     * @return the value as a double, if the sensor is measured and has one
     */
    public OptionalDouble valueOf(SensorName name) {
        for (int index = 0; index < size; index++) {
            if (hasValue(index) && slot(index).name().equals(name)) {
                return OptionalDouble.of(approximately(index));
            }
        }
        return OptionalDouble.empty();
    }
}
