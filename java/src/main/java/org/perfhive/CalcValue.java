package org.perfhive;

/**
 * One calculated value of a {@link CounterSnapshot}. The caller makes these objects once, and
 * {@link CounterSnapshot#getSnapshotItems} fills them.
 */
public final class CalcValue {
    private long bits;
    private ValueType valueType = ValueType.NONE;
    private int perfObjectIndex;
    private int counterIndex;
    private int instanceIndex;

    /** An object without a value, which {@link CounterSnapshot#getSnapshotItems} fills. */
    public CalcValue() {}

    void fill(Message from) {
        perfObjectIndex = from.int32();
        counterIndex = from.int32();
        instanceIndex = from.int32();
        valueType = ValueType.values()[from.int8()];
        bits = from.int64();
    }

    /**
     * The value of a counter of the type {@code DOUBLE}.
     *
     * @return the value; not a number for other types
     */
    public double doubleValue() {
        return valueType == ValueType.DOUBLE ? Double.longBitsToDouble(bits) : Double.NaN;
    }

    /**
     * The value of a counter of the type {@code INT32}.
     *
     * @return the bits of the unsigned value; 0 for other types
     */
    public int intValue() {
        return valueType == ValueType.INT32 ? (int) bits : 0;
    }

    /**
     * The value of a counter of the type {@code INT64}.
     *
     * @return the bits of the unsigned value; 0 for other types
     */
    public long longValue() {
        return valueType == ValueType.INT64 ? bits : 0;
    }

    /**
     * The type of the value.
     *
     * @return the type; {@code NONE} where there is no value
     */
    public ValueType valueType() {
        return valueType;
    }

    /**
     * The type of the value as a number.
     *
     * @return the place of the type in {@link ValueType}, from 0
     */
    public int valueTypeInt() {
        return valueType.ordinal();
    }

    /**
     * The title index of the object.
     *
     * @return the index
     */
    public int perfObjectIndex() {
        return perfObjectIndex;
    }

    /**
     * The title index of the counter.
     *
     * @return the index
     */
    public int counterIndex() {
        return counterIndex;
    }

    /**
     * The place of the instance among those of the object.
     *
     * @return the place, from 0; 0 for an object without instances
     */
    public int instanceIndex() {
        return instanceIndex;
    }

    @Override
    public String toString() {
        String value = switch (valueType) {
            case DOUBLE -> Double.toString(doubleValue());
            case NONE -> "no value";
            default -> Long.toUnsignedString(bits);
        };
        return "object " + perfObjectIndex + ", counter " + counterIndex + ", instance " + instanceIndex
                + " = " + value;
    }
}
