package org.perfhive;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The readings of one probe context, as arrays that are kept from cycle to cycle. A data source
 * written in Java adds its readings here, in the order of its selection; as long as the instances
 * stay the same, that allocates nothing.
 */
public final class ProbeReadings {
    /** The code of a missing value; the bits are then the place of the reason. */
    static final int NONE = 0;
    /** The code of a whole number of 32 bits. */
    static final int INT32 = 1;
    /** The code of a whole number of 64 bits. */
    static final int INT64 = 2;
    /** The code of a double. */
    static final int DOUBLE = 3;
    /** The mask for the part of a code that is {@code NONE}, {@code INT32}, {@code INT64} or {@code DOUBLE}. */
    static final int TYPE = 3;
    /** The bit of a code that says that the raw value is known. */
    static final int RAW = 4;
    /** The bit of a code that says that the raw value of the sample before is known. */
    static final int BEFORE = 8;

    /** A {@code long} with the number 1 in each of its eight bytes. */
    private static final long EIGHT = 0x0101_0101_0101_0101L;

    private static final VarHandle EIGHT_CODES =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private static final NoValue NOT_ADDED = new NoValue("no-data", "its data source has no value of it");
    private static final NoValue NO_BASELINE = new NoValue("no-data", "its data source has no baseline of it");

    private final List<SelectedSensor> selection;
    /** The place in the selection of the sensor that is next when a data source adds its readings. */
    private int next;
    int count;
    long[] bits = {};
    byte[] codes = {};
    long[] raw = {};
    long[] before = {};
    SensorSlot[] slots = {};
    /** The slots before the last change. */
    SensorSlot[] spare = {};
    /** The version of the slots, which changes when the slots change; -1 before there are any. */
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
        next = 0;
        spare = slots;
        reasons.clear();
    }

    /** Takes back what was added since {@link #clear}: the {@code count} readings and slots of before are back. */
    void takeBack(int count) {
        this.count = count;
        next = selection.size();
        if (slots != spare) {
            slots = spare;
            version++;
        }
    }

    /** Ends adding the baseline's readings. A reading that the data source has not added is added without a value. */
    void endBaseline() {
        for (int asked = next; asked < selection.size(); asked++) {
            SelectedSensor selected = selection.get(asked);
            if (selected.sensor() instanceof StaticSensor all && selected.instance().isEmpty()) {
                fillUp(asked, NO_BASELINE);
                all.instances().forEach(one -> put(next, Optional.of(one), NONE, reason(NO_BASELINE)));
                next++;
            }
        }
        end(NO_BASELINE);
    }

    /** Ends adding the readings of a sample. Slots for which no reading was added are removed. */
    void end() {
        end(NOT_ADDED);
    }

    private void end(NoValue why) {
        fillUp(selection.size(), why);
        if (slots.length != count) {
            slots = Arrays.copyOf(slots, count);
            version++;
        }
    }

    private boolean hasOneReading(int asked) {
        return !sensor(asked).hasInstances() || selection.get(asked).instance().isPresent();
    }

    /**
     * Adds a reading without a value for each sensor before the sensor {@code asked} that has exactly one
     * reading and was left out. Such a sensor has its reading in each sample, so that no other reading moves to
     * its place.
     */
    private void fillUp(int asked, NoValue why) {
        for (; next < asked; next++) {
            if (hasOneReading(next)) {
                put(next, selection.get(next).instance(), NONE, reason(why));
            }
        }
    }

    private void add(int asked, Optional<String> instance, int code, long value) {
        if (asked < next - 1) {
            throw new IllegalArgumentException(
                    "readings are added in the order of the selection: " + sensor(asked) + " comes before "
                            + sensor(next - 1));
        }
        if (sensor(asked).hasInstances() != instance.isPresent()) {
            throw new IllegalArgumentException(
                    sensor(asked) + (instance.isPresent() ? " has no instances" : " has instances: name one"));
        }
        if (asked == next - 1 && hasOneReading(asked)) {
            throw new IllegalArgumentException(sensor(asked) + " has one reading in a sample");
        }
        fillUp(asked, NOT_ADDED);
        next = asked + 1;
        put(asked, instance, code, value);
    }

    private void checkType(int asked, boolean isRight) {
        if (!isRight) {
            throw new IllegalArgumentException(
                    "the values of " + sensor(asked) + " are of the type " + sensor(asked).valueType());
        }
    }

    private void put(int asked, Optional<String> instance, int code, long value) {
        int place = count;
        resize(place + 1);
        if (slots.length <= place) {
            slots = Arrays.copyOf(slots, Math.max(place + 1, bits.length));
        }
        SensorSlot known = slots[place];
        if (known == null || known.asked != asked || !known.instance().equals(instance)) {
            slots = slots == spare ? slots.clone() : slots;
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
     * @throws IllegalArgumentException if the sensor's type is {@code DOUBLE}; if the sensor has instances
     *     and none is given, or has none and one is given; if the sensor's one reading was added before; or
     *     if a later sensor's reading was added before
     */
    public void addLong(int asked, Optional<String> instance, long value) {
        checkType(asked, sensor(asked).valueType() != ValueType.DOUBLE);
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
     * @throws IllegalArgumentException if the sensor's type is not {@code DOUBLE}; and as
     *     {@link #addLong}
     */
    public void addDouble(int asked, Optional<String> instance, double value) {
        checkType(asked, sensor(asked).valueType() == ValueType.DOUBLE);
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
        add(asked, instance, NONE, reason(Objects.requireNonNull(why)));
    }

    /**
     * Sets the raw value of the reading that was added last: the number that the source counts.
     *
     * @param value the raw value
     */
    public void raw(long value) {
        int place = lastPlace();
        codes[place] |= RAW;
        raw[place] = value;
    }

    /**
     * Sets the raw value that the reading added last had in the sample before.
     *
     * @param value the raw value
     */
    public void before(long value) {
        int place = lastPlace();
        codes[place] |= BEFORE;
        before[place] = value;
    }

    private int lastPlace() {
        if (count == 0) {
            throw new IllegalStateException("no reading was added that a raw value could belong to");
        }
        return count - 1;
    }

    private int reason(NoValue why) {
        int known = reasons.indexOf(why);
        if (known < 0) {
            known = reasons.size();
            reasons.add(why);
        }
        return known;
    }

    boolean hasValue(int place) {
        return (codes[place] & TYPE) != NONE;
    }

    double approximately(int place) {
        long bits = this.bits[place];
        return switch (codes[place] & TYPE) {
            case DOUBLE -> Double.longBitsToDouble(bits);
            case NONE -> Double.NaN;
            default -> bits >= 0 ? bits : new LongValueHandle(bits).approximately();
        };
    }

    /** Whether {@code count} codes from the place {@code from} on have the same type. Eight are compared at once. */
    private boolean areAlike(int from, int count) {
        long type = codes[from] & TYPE;
        int at = from;
        for (; at <= from + count - Long.BYTES; at += Long.BYTES) {
            if (((long) EIGHT_CODES.get(codes, at) & EIGHT * TYPE) != EIGHT * type) {
                return false;
            }
        }
        while (at < from + count && (codes[at] & TYPE) == type) {
            at++;
        }
        return at == from + count;
    }

    void copy(int from, int count, double[] into) {
        int type = areAlike(from, count) ? codes[from] & TYPE : NONE;
        long[] bits = this.bits;
        long signs = 0;
        if (type == DOUBLE) {
            for (int at = 0; at < count; at++) {
                into[at] = Double.longBitsToDouble(bits[from + at]);
            }
        } else if (type != NONE) {
            for (int at = 0; at < count; at++) {
                signs |= bits[from + at];
                into[at] = bits[from + at];
            }
        }
        if (type == NONE || signs < 0) {
            for (int at = 0; at < count; at++) {
                into[at] = approximately(from + at);
            }
        }
    }

    void copy(int from, int count, long[] into, long none) {
        System.arraycopy(bits, from, into, 0, count);
        int type = codes[from] & TYPE;
        if (type != NONE && type != DOUBLE && areAlike(from, count)) {
            return;
        }
        for (int at = 0; at < count; at++) {
            int code = codes[from + at] & TYPE;
            if (code == NONE) {
                into[at] = none;
            } else if (code == DOUBLE) {
                throw new ArithmeticException("the values of " + slots[from] + " are not whole numbers");
            }
        }
    }

    /** A reading as an object, which later samples do not change. */
    SensorReading reading(int place, int asked) {
        int code = codes[place];
        long bits = this.bits[place];
        Optional<ValueHandle> value = switch (code & TYPE) {
            case INT32 -> Optional.of(new IntValueHandle((int) bits));
            case INT64 -> Optional.of(new LongValueHandle(bits));
            case DOUBLE -> Optional.of(new DoubleValueHandle(Double.longBitsToDouble(bits)));
            default -> Optional.empty();
        };
        Optional<NoValue> why =
                value.isPresent() ? Optional.empty() : Optional.of(reasons.get((int) bits));
        return new SensorReading(
                asked,
                slots[place],
                value,
                why,
                optional(code & RAW, raw[place]),
                optional(code & BEFORE, before[place]));
    }

    private static OptionalLong optional(int isThere, long value) {
        return isThere == 0 ? OptionalLong.empty() : OptionalLong.of(value);
    }

    /** Gives every reading the reason {@code why} instead of its value. */
    void fail(NoValue why) {
        reasons = new ArrayList<>(List.of(why));
        // What the native library has is read again.
        reasonsVersion--;
        codesVersion--;
        Arrays.fill(codes, 0, count, (byte) NONE);
        Arrays.fill(bits, 0, count, 0);
    }
}
