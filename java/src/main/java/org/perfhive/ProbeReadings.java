package org.perfhive;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * The readings of one probe context, as arrays that are kept from cycle to cycle. A data source
 * written in Java adds its readings here, in the order of its selection; as long as the instances
 * stay the same, that allocates nothing.
 */
public final class ProbeReadings {
    /** There is no value; the bits are the place of the reason. */
    static final int NONE = 0;
    /** The code of a whole number of 32 bits. */
    static final int INT32 = 1;
    /** The code of a whole number of 64 bits. */
    static final int INT64 = 2;
    /** The code of a double. */
    static final int DOUBLE = 3;
    /** The bits of a code that are one of the above. */
    static final int TYPE = 3;
    /** The raw value is known. */
    static final int RAW = 4;
    /** The raw value of the sample before is known. */
    static final int BEFORE = 8;

    private final List<SelectedSensor> selection;
    int count;
    long[] bits = {};
    byte[] codes = {};
    long[] raw = {};
    long[] before = {};
    SensorSlot[] slots = {};
    /** The slots before the last change. */
    SensorSlot[] spare = {};
    /** Changes when the slots do; -1 before there are any. */
    int version = -1;
    List<NoValue> reasons = new ArrayList<>();
    int reasonsVersion;
    int codesVersion;

    ProbeReadings(List<SelectedSensor> selection) {
        this.selection = List.copyOf(selection);
    }

    Sensor sensor(int asked) {
        return selection.get(asked).sensor();
    }

    /** Makes room for readings that the native library fills in. */
    void resize(int count) {
        this.count = count;
        if (bits.length < count) {
            int capacity = Math.max(count, bits.length + bits.length / 2);
            bits = Arrays.copyOf(bits, capacity);
            codes = Arrays.copyOf(codes, capacity);
            raw = Arrays.copyOf(raw, capacity);
            before = Arrays.copyOf(before, capacity);
        }
    }

    /** Empties the readings for a data source that adds its own. */
    void clear() {
        count = 0;
        reasons.clear();
    }

    /** Ends adding: slots that were not added again are gone. */
    void end() {
        if (slots.length != count) {
            slots = Arrays.copyOf(slots, count);
            version++;
        }
    }

    private void add(int asked, Optional<String> instance, int code, long value) {
        int place = count;
        resize(place + 1);
        if (slots.length <= place) {
            slots = Arrays.copyOf(slots, Math.max(place + 1, bits.length));
        }
        SensorSlot known = slots[place];
        if (known == null || known.asked != asked || !known.instance().equals(instance)) {
            slots[place] = new SensorSlot(asked, sensor(asked), instance);
            version++;
        }
        codes[place] = (byte) code;
        bits[place] = value;
    }

    /**
     * Adds a whole number.
     *
     * @param asked the place of the sensor in the selection
     * @param instance the instance; empty for a sensor without instances
     * @param value the number, which is taken as unsigned
     * @throws ArithmeticException if the sensor's type is {@code INT32} and the number is larger
     */
    public void addLong(int asked, Optional<String> instance, long value) {
        boolean isInt = sensor(asked).valueType() == ValueType.INT32;
        if (isInt && value >>> 32 != 0) {
            throw new ArithmeticException(value + " does not fit the 32 bits of " + sensor(asked));
        }
        add(asked, instance, isInt ? INT32 : INT64, value);
    }

    /**
     * Adds a floating-point number.
     *
     * @param asked the place of the sensor in the selection
     * @param instance the instance; empty for a sensor without instances
     * @param value the number
     */
    public void addDouble(int asked, Optional<String> instance, double value) {
        add(asked, instance, DOUBLE, Double.doubleToRawLongBits(value));
    }

    /**
     * Adds the reason why there is no value.
     *
     * @param asked the place of the sensor in the selection
     * @param instance the instance; empty for a sensor without instances
     * @param why the reason
     */
    public void addNone(int asked, Optional<String> instance, NoValue why) {
        add(asked, instance, NONE, reason(why));
    }

    /**
     * Sets the raw value of the reading that was added last: what the source counts.
     *
     * @param value the raw value
     */
    public void raw(long value) {
        codes[count - 1] |= RAW;
        raw[count - 1] = value;
    }

    /**
     * Sets the raw value that the reading added last had in the sample before.
     *
     * @param value the raw value
     */
    public void before(long value) {
        codes[count - 1] |= BEFORE;
        before[count - 1] = value;
    }

    private int reason(NoValue why) {
        int known = reasons.indexOf(why);
        if (known < 0) {
            known = reasons.size();
            reasons.add(why);
        }
        return known;
    }

    /** Gives every reading a reason instead of a value. */
    void fail(NoValue why) {
        reasons = new ArrayList<>(List.of(why));
        // What the native library has is read again.
        reasonsVersion--;
        codesVersion--;
        Arrays.fill(codes, 0, count, (byte) NONE);
        Arrays.fill(bits, 0, count, 0);
    }
}
