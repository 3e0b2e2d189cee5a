package org.perfhive;

import java.lang.invoke.VarHandle;
import java.util.AbstractList;
import java.util.ConcurrentModificationException;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.RandomAccess;

/**
 * The readings of one sample of a {@link MeasurementContext}, in the order of the sensors asked for.
 * {@link #copyValues} copies the values of a sensor at once; {@link #hasValue}, {@link #approximately}
 * and {@link #longBits} read values one by one without making an object for each.
 *
 * <p>The values lie in arrays of the context. The context's next {@code decode}, on any thread, fills
 * the arrays anew; from then on every use of these readings except {@code size} and {@code isEmpty} throws a
 * {@link ConcurrentModificationException}, so that no value of a later sample is taken for one of this
 * sample. A {@link SensorReading} that was taken out before does not change, and copied values stay.
 */
public final class Readings extends AbstractList<SensorReading> implements RandomAccess {
    private final AllReadings all;
    private final int stamp;
    private final int size;

    /** The readings as they are now. */
    Readings(AllReadings all) {
        this.all = all;
        this.stamp = all.stamp;
        this.size = all.size;
    }

    /** Throws if another sample was decoded since. Called after reading, so that no mixed value is returned. */
    private void check() {
        VarHandle.loadLoadFence();
        if (all.stamp != stamp) {
            throw new ConcurrentModificationException(
                    "the context has decoded another sample since: take out of readings (get), or copy"
                            + " (copyValues), what is to stay");
        }
    }

    @Override
    public int size() {
        return size;
    }

    /**
     * Whether a reading has a value.
     *
     * @param index the place of the reading
     * @return whether it has a value
     */
    public boolean hasValue(int index) {
        Objects.checkIndex(index, size);
        try {
            return all.part(index).hasValue(all.place(index));
        } finally {
            check();
        }
    }

    /**
     * The value of a reading as a double, rounded where it has to be.
     *
     * @param index the place of the reading
     * @return the value; not a number where there is none
     */
    public double approximately(int index) {
        Objects.checkIndex(index, size);
        try {
            return all.part(index).approximately(all.place(index));
        } finally {
            check();
        }
    }

    /**
     * The bits of a value: those of the unsigned whole number, or of the double
     * ({@link Double#longBitsToDouble}), as {@link Sensor#valueType()} says. Without a value
     * ({@link #hasValue}) the bits mean nothing.
     *
     * @param index the place of the reading
     * @return the bits
     */
    public long longBits(int index) {
        Objects.checkIndex(index, size);
        try {
            return all.part(index).bits[all.place(index)];
        } finally {
            check();
        }
    }

    /**
     * The slot of a reading.
     *
     * @param index the place of the reading
     * @return the slot
     */
    public SensorSlot slot(int index) {
        Objects.checkIndex(index, size);
        try {
            return all.part(index).slots[all.place(index)];
        } finally {
            check();
        }
    }

    /**
     * The place of a sensor's first reading. The readings of its instances follow one another.
     *
     * @param asked the place of the sensor among those asked for
     * @return the place of the first reading; if the sensor has no readings, the place of the next
     *     sensor's first reading
     */
    public int first(int asked) {
        Objects.checkIndex(asked, all.sensors());
        try {
            return all.first[asked];
        } finally {
            check();
        }
    }

    /**
     * The number of a sensor's readings: one for each instance.
     *
     * @param asked the place of the sensor among those asked for
     * @return the number; 1 for a sensor without instances
     */
    public int count(int asked) {
        Objects.checkIndex(asked, all.sensors());
        try {
            return all.first[asked + 1] - all.first[asked];
        } finally {
            check();
        }
    }

    /**
     * Copies the values of a sensor as doubles, rounded where they have to be.
     *
     * @param asked the place of the sensor among those asked for
     * @param into takes the values; as long as {@link #count(int)} or longer. A reading without a value
     *     gives not a number
     * @return the number of values copied
     * @throws IllegalArgumentException if the array is too short
     */
    public int copyValues(int asked, double[] into) {
        Objects.checkIndex(asked, all.sensors());
        try {
            int first = all.first[asked];
            int count = all.first[asked + 1] - first;
            CounterSnapshot.check(count, into.length);
            if (count > 0) {
                all.part(first).copy(all.place(first), count, into);
            }
            return count;
        } finally {
            check();
        }
    }

    /**
     * Copies the values of a sensor that counts in whole numbers.
     *
     * @param asked the place of the sensor among those asked for
     * @param into takes the values; as long as {@link #count(int)} or longer. The numbers are
     *     unsigned, as in {@link Long#toUnsignedString(long)}
     * @param none the number for a reading without a value
     * @return the number of values copied
     * @throws IllegalArgumentException if the array is too short
     * @throws ArithmeticException if a value is a floating-point number, as those of the type
     *     {@code DOUBLE}; the array is overwritten then
     */
    public int copyValues(int asked, long[] into, long none) {
        Objects.checkIndex(asked, all.sensors());
        try {
            int first = all.first[asked];
            int count = all.first[asked + 1] - first;
            CounterSnapshot.check(count, into.length);
            if (count > 0) {
                all.part(first).copy(all.place(first), count, into, none);
            }
            return count;
        } finally {
            check();
        }
    }

    @Override
    public SensorReading get(int index) {
        Objects.checkIndex(index, size);
        try {
            return all.part(index).reading(all.place(index), all.asked(index));
        } finally {
            check();
        }
    }

    /**
     * The value of a sensor by its name. Case matters only where the names of two readings differ in
     * nothing else.
     *
     * @param name the name, with the instance if the sensor has instances
     * @return the value as a double, if the sensor is measured and has one
     */
    public OptionalDouble valueOf(SensorName name) {
        Objects.requireNonNull(name);
        int found = -1;
        for (int index = 0; index < size; index++) {
            SensorName known = slot(index).name();
            if (known.equals(name)) {
                found = index;
                break;
            }
            if (found < 0 && known.equalsIgnoreCase(name)) {
                found = index;
            }
        }
        return found >= 0 && hasValue(found)
                ? OptionalDouble.of(approximately(found))
                : OptionalDouble.empty();
    }
}
