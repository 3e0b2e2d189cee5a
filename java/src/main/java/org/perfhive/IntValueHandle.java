package org.perfhive;

/**
 * A whole number of 32 bits without a sign, which may be above {@link Integer#MAX_VALUE}.
 *
 * @param bits the bits of the number
 */
public record IntValueHandle(int bits) implements ValueHandle {
    @Override
    public ValueType valueType() {
        return ValueType.INT32;
    }

    @Override
    public long longValue() {
        return Integer.toUnsignedLong(bits);
    }

    @Override
    public double doubleValue() {
        return longValue();
    }

    @Override
    public double approximately() {
        return longValue();
    }

    @Override
    public String toString() {
        return Integer.toUnsignedString(bits);
    }
}
