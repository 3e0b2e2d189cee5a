package org.perfhive;

/**
 * A whole number of 64 bits without a sign, which may be above {@link Long#MAX_VALUE};
 * {@link #toString()} and {@link Long#toUnsignedString(long)} of the bits show it even then.
 *
 * @param bits the bits of the number
 */
public record LongValueHandle(long bits) implements ValueHandle {
    @Override
    public ValueType valueType() {
        return ValueType.INT64;
    }

    @Override
    public long longValue() {
        if (bits < 0) {
            throw new ArithmeticException(this + " is above the largest long");
        }
        return bits;
    }

    @Override
    public double doubleValue() {
        int used = 64 - Long.numberOfLeadingZeros(bits) - Long.numberOfTrailingZeros(bits);
        if (bits != 0 && used > 53) {
            throw new ArithmeticException(this + " is no double");
        }
        return approximately();
    }

    @Override
    public double approximately() {
        // The lowest bit keeps its influence on rounding.
        return bits >= 0 ? bits : ((bits >>> 1) | (bits & 1)) * 2.0;
    }

    @Override
    public String toString() {
        return Long.toUnsignedString(bits);
    }
}
